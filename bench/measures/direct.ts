import { setImmediate } from 'node:timers/promises'
import { inTurns, type Pairs } from '../batches.ts'
import { contenders } from '../contenders/index.ts'
import { floorLoop } from '../floor.ts'
import { handler, PARAMS, WEATHER, WRONG_PARAMS } from '../weather.ts'

/** After so many calls, the event loop turns. */
const CALLS_PER_TURN = 256

export interface DirectOptions {
  readonly id: string
  readonly pairs: number
  readonly batchMs: number
  readonly warmMs: number
}

export interface DirectResult extends Pairs {
  /** Whether wrong parameters kept the handler from running. */
  readonly validates: boolean
}

/** One contender against the floor, in this process. */
export async function direct({ id, pairs, batchMs, warmMs }: DirectOptions): Promise<DirectResult> {
  const contender = contenders.find((each) => each.id === id)
  if (contender === undefined) throw new Error(`There is no contender '${id}'.`)
  const call = await contender.prepare(contender.refuses ? WRONG_PARAMS : PARAMS, handler)
  const answer = JSON.stringify(await call())
  if (answer.includes(WEATHER.condition) === (contender.refuses ?? false)) {
    throw new Error(`'${id}' did not do its work; it answered ${answer}.`)
  }
  const loop = async (calls: number) => {
    for (let i = 0; i < calls; i++) {
      await call()
      // As on a server: without it a log would never be written, and drop its records.
      if (i % CALLS_PER_TURN === 0) await setImmediate()
    }
  }
  const measured = await inTurns(floorLoop(handler), loop, pairs, batchMs, warmMs)
  let ran = false
  const wrongCall = await contender.prepare(WRONG_PARAMS, async () => {
    ran = true
    return WEATHER
  })
  const refusal = await wrongCall().catch(() => undefined)
  const gaveWeather = refusal !== undefined && JSON.stringify(refusal).includes(WEATHER.condition)
  return { ...measured, validates: !ran && !gaveWeather }
}
