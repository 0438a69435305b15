import type { Case } from '../case.ts'
import { expect } from '../failure.ts'
import { DEADLINE_MS, GRACE_MS, ping, tool } from '../probe.ts'
import { settle, settleWith } from '../settle.ts'

export const neverEnds: Case = {
  id: 'never-ends',
  title: 'A call that never ends returns at its deadline',
  why: 'A tool that waits for a dead network blocks the conversation forever.',
  thread: 'mastra-ai/mastra#18594',
  needs: [],
  async run(probe) {
    // Ignores its signal, as most handlers do.
    let started = false
    const stuck = tool('stuck', () => {
      started = true
      return new Promise(() => {})
    })
    const runtime = await probe.start({ tools: [stuck, ping], deadlineMs: DEADLINE_MS })
    await settle(runtime.call('stuck', '{}'), DEADLINE_MS + GRACE_MS, `A call with a deadline of ${DEADLINE_MS} ms`)
    expect(started, 'The tool was not started')
    await settleWith(runtime.call('ping', '{}'), 'pong', DEADLINE_MS + GRACE_MS, 'The next call')
  },
}
