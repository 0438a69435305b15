import type { Case } from '../case.ts'
import { GRACE_MS, ping } from '../probe.ts'
import { comeUp, settleWith } from '../settle.ts'

export const mcpSlowStart: Case = {
  id: 'mcp-slow-start',
  title: 'An MCP server that does not answer delays neither the start nor other tools',
  why: 'One of six servers is down, and nothing works for half a minute or at all.',
  thread: 'stacklok/mecatl#1695',
  needs: ['mcp-stdio'],
  async run(probe) {
    const mcpServers = { silent: probe.stdioServer('--mute'), files: probe.stdioServer() }
    const runtime = probe.start({ tools: [ping], mcpServers })
    const local = runtime.then((ready) => ready.call('ping', '{}'))
    await settleWith(local, 'pong', 2 * GRACE_MS, 'A call of a local tool, the start included,')
    const started = await runtime
    const echo = () => started.call('echo', '{"text":"one"}')
    await comeUp(echo, 'echo: one', 2 * GRACE_MS, 'A call of the other server')
  },
}
