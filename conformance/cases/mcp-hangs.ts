import { setTimeout as sleep } from 'node:timers/promises'
import type { Case } from '../case.ts'
import { DEADLINE_MS, GRACE_MS, START_MS } from '../probe.ts'
import { comeUp, settle, settleWith } from '../settle.ts'

export const mcpHangs: Case = {
  id: 'mcp-hangs',
  title: 'A call that an MCP server never answers ends at its deadline, and other calls of that server continue',
  why: 'One tool of a server hangs, and the agent hangs with it, or the client drops the connection for all calls.',
  thread: 'kirodotdev/Kiro#8111',
  needs: ['mcp-stdio'],
  async run(probe) {
    const runtime = await probe.start({ mcpServers: { files: probe.stdioServer() }, deadlineMs: DEADLINE_MS })
    await comeUp(() => runtime.call('echo', '{"text":"one"}'), 'echo: one', START_MS, 'The first call')
    const stuck = settle(
      runtime.call('hang', '{}'),
      DEADLINE_MS + GRACE_MS,
      `A call with a deadline of ${DEADLINE_MS} ms`,
    )
    stuck.catch(() => {})
    // Under way when the deadline of the other one passes.
    await sleep(DEADLINE_MS - 300)
    const beside = runtime.call('slow', '{}')
    await settleWith(beside, 'slow: done', DEADLINE_MS + GRACE_MS, 'A call beside the one that hangs')
    await stuck
    await settleWith(runtime.call('echo', '{"text":"two"}'), 'echo: two', DEADLINE_MS + GRACE_MS, 'The next call')
  },
}
