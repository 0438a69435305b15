import type { Case } from '../case.ts'
import { expect } from '../failure.ts'
import { GRACE_MS, tool } from '../probe.ts'
import { settle } from '../settle.ts'

const MOST = 25

export const loopsForEver: Case = {
  id: 'loops-for-ever',
  title: 'A model that repeats the same call is stopped',
  why: 'A conversation is stuck overnight, and causes a large bill.',
  thread: 'earendil-works/pi#9637',
  needs: ['loop'],
  async run(probe) {
    let runs = 0
    const tooOften = Promise.withResolvers<string>()
    const look = tool('look', () => {
      runs++
      if (runs > MOST) tooOften.resolve('too often')
      return 'nothing new'
    })
    const runtime = await probe.start({ tools: [look] })
    let turns = 0
    const run = probe.loopOf(runtime)(() => ({ calls: [{ id: `call_${++turns}`, name: 'look', arguments: '{}' }] }))
    // Ending with an error is ending.
    const ended = run.catch(() => 'ended')
    await settle(Promise.race([ended, tooOften.promise]), 5 * GRACE_MS, 'The run')
    expect(runs > 0, 'The tool was never run')
    expect(runs <= MOST, `The same call was made more than ${MOST} times, and the run was still going on`)
  },
}
