import type { Case } from '../case.ts'
import { serverPids } from '../journal.ts'
import { START_MS } from '../probe.ts'
import { comeUp, settleWith } from '../settle.ts'
import { endServers } from './end-servers.ts'

export const mcpKilledBetween: Case = {
  id: 'mcp-killed-between',
  title: 'An MCP server that died between two calls is available for the next one',
  why: 'A server crashes at night, and its tools are missing until the application is restarted.',
  thread: 'anthropics/claude-code#43177',
  needs: ['mcp-stdio'],
  async run(probe) {
    const runtime = await probe.start({ mcpServers: { files: probe.stdioServer() } })
    await comeUp(() => runtime.call('echo', '{"text":"one"}'), 'echo: one', START_MS, 'The first call')
    await endServers(serverPids(probe.folder), probe.folder)
    await settleWith(runtime.call('echo', '{"text":"two"}'), 'echo: two', START_MS, 'The call after the crash')
  },
}
