import type { Case } from '../case.ts'
import { expect } from '../failure.ts'
import { GRACE_MS, tool } from '../probe.ts'
import { settle } from '../settle.ts'
import { waitUntil } from '../wait-until.ts'

export const cancelReachesTool: Case = {
  id: 'cancel-reaches-tool',
  title: 'Cancelling ends the call and reaches the tool',
  why: 'The user presses stop, the page says stopped, and the tool continues.',
  thread: 'openai/openai-agents-js#1521',
  needs: [],
  async run(probe) {
    let started = false
    let told = false
    const work = tool('work', (_params, signal) => {
      started = true
      const { promise, reject } = Promise.withResolvers<never>()
      signal?.addEventListener('abort', () => {
        told = true
        reject(signal.reason)
      })
      return promise
    })
    const runtime = await probe.start({ tools: [work] })
    const stop = new AbortController()
    const call = runtime.call('work', '{}', { signal: stop.signal })
    call.catch(() => {})
    expect(await waitUntil(() => started, GRACE_MS), 'The tool was not started')
    stop.abort()
    expect(await waitUntil(() => told, GRACE_MS), 'The tool was never told that the call was cancelled')
    await settle(call, GRACE_MS, 'A cancelled call')
  },
}
