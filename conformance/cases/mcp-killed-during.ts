import type { Case } from '../case.ts'
import { expect } from '../failure.ts'
import { serverPids } from '../journal.ts'
import { GRACE_MS, START_MS } from '../probe.ts'
import { comeUp, settle, settleWith } from '../settle.ts'
import { waitUntil } from '../wait-until.ts'
import { endServers } from './end-servers.ts'

export const mcpKilledDuring: Case = {
  id: 'mcp-killed-during',
  title: 'A call whose MCP server dies returns immediately, and the next one works',
  why: 'The server is dead, and the call still waits for minutes.',
  thread: 'MoonshotAI/kimi-code#2109',
  needs: ['mcp-stdio'],
  async run(probe) {
    const runtime = await probe.start({ mcpServers: { files: probe.stdioServer() } })
    await comeUp(() => runtime.call('echo', '{"text":"one"}'), 'echo: one', START_MS, 'The first call')
    // Trying again is right here: the tool only reads.
    const call = runtime.call('hang_once', '{}')
    call.catch(() => {})
    expect(await waitUntil(() => probe.hasGot('hang_once'), START_MS), 'The call never reached the server')
    await endServers(serverPids(probe.folder), probe.folder)
    await settle(call, 2 * GRACE_MS, 'A call whose server died')
    await settleWith(runtime.call('echo', '{"text":"two"}'), 'echo: two', START_MS, 'The next call')
  },
}
