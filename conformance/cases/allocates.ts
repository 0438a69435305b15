import { setTimeout as sleep } from 'node:timers/promises'
import type { Case } from '../case.ts'
import { DEADLINE_MS, GRACE_MS, ping, tool } from '../probe.ts'
import { settle, settleWith } from '../settle.ts'
import { light, swell } from './heavy-handlers.ts'

const MODULE = new URL('./heavy-handlers.ts', import.meta.url).href

export const allocates: Case = {
  id: 'allocates',
  title: 'A tool that uses more and more memory does not crash the process',
  why: 'A parser reads an unusual file, and all conversations of the process are lost.',
  thread: 'vm0-ai/vm0#27269',
  needs: [],
  async run(probe) {
    const greedy = { ...tool('greedy', swell), untrusted: { module: MODULE, export: 'swell' } }
    const easy = { ...tool('easy', light), untrusted: { module: MODULE, export: 'light' } }
    const runtime = await probe.start({ tools: [easy, greedy, ping], deadlineMs: DEADLINE_MS })
    await settleWith(runtime.call('easy', '{}'), 'light', 5 * GRACE_MS, 'An ordinary call')
    await settle(runtime.call('greedy', '{}'), DEADLINE_MS + GRACE_MS, `A call with a deadline of ${DEADLINE_MS} ms`)
    // A handler that was only abandoned goes on taking.
    await sleep(1500)
    await settleWith(runtime.call('ping', '{}'), 'pong', DEADLINE_MS + GRACE_MS, 'The next call')
  },
}
