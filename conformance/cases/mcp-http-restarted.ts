import { setTimeout as sleep } from 'node:timers/promises'
import type { Case } from '../case.ts'
import { START_MS } from '../probe.ts'
import { HttpServer } from '../servers/http-server.ts'
import { comeUp, settleWith } from '../settle.ts'

export const mcpHttpRestarted: Case = {
  id: 'mcp-http-restarted',
  title: 'A restarted MCP server over HTTP, with new sessions, is available for the next call',
  why: 'Every deployment of the server breaks every client until it restarts, although the protocol specifies otherwise.',
  thread: 'punkpeye/mcp-remote#106',
  needs: ['mcp-http'],
  async run(probe) {
    const server = new HttpServer(probe.folder)
    await server.start()
    const runtime = await probe.start({ mcpServers: { remote: { url: server.url } } })
    await comeUp(() => runtime.call('echo', '{"text":"one"}'), 'echo: one', START_MS, 'The first call')
    await server.stop()
    // A restart takes a while; by then the client knows that its connections are closed.
    await sleep(300)
    await server.start()
    await settleWith(runtime.call('echo', '{"text":"two"}'), 'echo: two', START_MS, 'The call after the restart')
  },
}
