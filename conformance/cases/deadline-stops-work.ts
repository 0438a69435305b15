import type { Case } from '../case.ts'
import { expect } from '../failure.ts'
import { DEADLINE_MS, GRACE_MS, tool } from '../probe.ts'
import { settle } from '../settle.ts'
import { waitUntil } from '../wait-until.ts'

export const deadlineStopsWork: Case = {
  id: 'deadline-stops-work',
  title: 'A tool is notified when its deadline passes',
  why: 'The caller gets a timeout, but the tool continues to send mails, make payments and hold connections.',
  thread: 'vercel/ai#13365',
  needs: [],
  async run(probe) {
    let told = false
    const work = tool('work', (_params, signal) => {
      const { promise, reject } = Promise.withResolvers<never>()
      signal?.addEventListener('abort', () => {
        told = true
        reject(signal.reason)
      })
      return promise
    })
    const runtime = await probe.start({ tools: [work], deadlineMs: DEADLINE_MS })
    await settle(runtime.call('work', '{}'), DEADLINE_MS + GRACE_MS, `A call with a deadline of ${DEADLINE_MS} ms`)
    const stopped = await waitUntil(() => told, GRACE_MS)
    expect(stopped, 'The call came back, but the tool was never told and works on')
  },
}
