import type { Case } from '../case.ts'
import { expect } from '../failure.ts'
import { DEADLINE_MS, GRACE_MS, ping, tool } from '../probe.ts'
import { settle, settleWith } from '../settle.ts'
import { light, spin } from './heavy-handlers.ts'

const MODULE = new URL('./heavy-handlers.ts', import.meta.url).href
const LONGEST_PAUSE_MS = 500

/** CPU time of this thread. */
function ownCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

export const cpuBound: Case = {
  id: 'cpu-bound',
  title: 'A tool that computes forever is stopped and blocks no other call',
  why: 'One loop in one tool, and all users of the process get a gateway error.',
  thread: 'microsoft/agent-framework#5741',
  needs: [],
  async run(probe) {
    const busy = { ...tool('busy', spin), untrusted: { module: MODULE, export: 'spin' } }
    const easy = { ...tool('easy', light), untrusted: { module: MODULE, export: 'light' } }
    const runtime = await probe.start({ tools: [easy, busy, ping], deadlineMs: DEADLINE_MS })
    await settleWith(runtime.call('easy', '{}'), 'light', 5 * GRACE_MS, 'An ordinary call')
    // CPU time, because a busy machine also delays the timers of an idle process.
    let last = ownCpuMs()
    let longest = 0
    const beat = setInterval(() => {
      const now = ownCpuMs()
      longest = Math.max(longest, now - last)
      last = now
    }, 20)
    const call = runtime.call('busy', '{}')
    await settleWith(runtime.call('ping', '{}'), 'pong', DEADLINE_MS + GRACE_MS, 'A call beside it')
    await settle(call, DEADLINE_MS + GRACE_MS, `A call with a deadline of ${DEADLINE_MS} ms`)
    clearInterval(beat)
    expect(longest < LONGEST_PAUSE_MS, `The process stood still for ${Math.round(longest)} ms`)
  },
}
