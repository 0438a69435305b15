import type { McpServer } from '../adapter.ts'
import type { Case } from '../case.ts'
import { expect } from '../failure.ts'
import { isRunning } from '../is-running.ts'
import { serverPids } from '../journal.ts'
import { START_MS } from '../probe.ts'
import { comeUp, settle } from '../settle.ts'
import { waitUntil } from '../wait-until.ts'

/** As npx, uvx and start scripts do: the server is a child of what was started. */
function wrapped(server: McpServer): McpServer {
  if (!('command' in server)) return server
  const line = [server.command, ...server.args].map((word) => `'${word}'`).join(' ')
  return { command: 'sh', args: ['-c', `${line}; exit 0`] }
}

export const mcpLeavesNothing: Case = {
  id: 'mcp-leaves-nothing',
  title: 'Closing ends the whole process tree of an MCP server',
  why: 'Every session leaves a server behind, and after two weeks the machine is out of memory.',
  thread: 'anomalyco/opencode#50363',
  needs: ['mcp-stdio'],
  async run(probe) {
    const runtime = await probe.start({ mcpServers: { files: wrapped(probe.stdioServer('--stays')) } })
    await comeUp(() => runtime.call('echo', '{"text":"one"}'), 'echo: one', START_MS, 'The first call')
    await settle(
      runtime.close().then(() => ''),
      START_MS,
      'close()',
    )
    const left = () => serverPids(probe.folder).filter((pid) => isRunning(pid, probe.folder))
    await waitUntil(() => left().length === 0, 3000)
    expect(left().length === 0, 'The server runs on after close()')
  },
}
