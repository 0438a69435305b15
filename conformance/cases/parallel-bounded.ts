import { setTimeout as sleep } from 'node:timers/promises'
import type { Case } from '../case.ts'
import { expect } from '../failure.ts'
import { tool } from '../probe.ts'
import { toldAndGoesOn } from './told-and-goes-on.ts'

const CALLS = 200
const MOST = 64

export const parallelBounded: Case = {
  id: 'parallel-bounded',
  title: 'Two hundred calls in one turn do not all run at once',
  why: 'One turn of one model uses up the shared connection pool.',
  thread: 'pydantic/pydantic-ai#6884',
  needs: ['loop'],
  async run(probe) {
    let now = 0
    let most = 0
    const query = tool(
      'query',
      async () => {
        now++
        most = Math.max(most, now)
        await sleep(10)
        now--
        return 'rows'
      },
      { properties: { id: { type: 'integer' } }, required: ['id'] },
    )
    const runtime = await probe.start({ tools: [query] })
    const calls = Array.from({ length: CALLS }, (_, id) => ({
      id: `call_${id}`,
      name: 'query',
      arguments: JSON.stringify({ id }),
    }))
    await toldAndGoesOn(probe.loopOf(runtime), calls, `${CALLS} calls`)
    expect(most <= MOST, `${most} calls ran at the same time`)
  },
}
