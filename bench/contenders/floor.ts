import type { Contender } from '../contender.ts'
import { floorExecutor } from '../floor.ts'
import { NAME } from '../weather.ts'

/** The floor against itself: how far its ratio is from 1 is the noise of the whole method. */
export const floor: Contender = {
  id: 'floor',
  name: 'floor, against itself',
  call: 'Map, Ajv, await, performance.now()',
  deadline: 'no',
  permission: 'no',
  record: 'no',
  async prepare(params, handler) {
    const execute = floorExecutor(handler)
    return () => execute(NAME, params)
  },
}
