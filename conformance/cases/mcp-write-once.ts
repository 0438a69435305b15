import { setTimeout as sleep } from 'node:timers/promises'
import type { Case } from '../case.ts'
import { expect } from '../failure.ts'
import { FAR_MS, START_MS } from '../probe.ts'
import { HttpServer } from '../servers/http-server.ts'
import { comeUp, settle } from '../settle.ts'

export const mcpWriteOnce: Case = {
  id: 'mcp-write-once',
  title: "A call that changes data is never repeated without the caller's knowledge",
  why: 'The response to a transfer is lost, the client retries, and the money is transferred twice.',
  thread: 'odysseus-dev/odysseus#6150',
  needs: ['mcp-stdio', 'mcp-http'],
  async run(probe) {
    const server = new HttpServer(probe.folder)
    await server.start()
    for (const [transport, config] of Object.entries({ HTTP: { url: server.url }, stdio: probe.stdioServer() })) {
      const before = probe.writes()
      const runtime = await probe.start({ mcpServers: { bank: config } })
      await comeUp(() => runtime.call('echo', '{"text":"one"}'), 'echo: one', START_MS, 'The first call')
      await settle(runtime.call('transfer', '{}'), FAR_MS + 2000, `A call over ${transport} whose answer was lost`)
      // A second attempt may come after a pause.
      await sleep(1500)
      const times = probe.writes() - before
      expect(times > 0, `The call over ${transport} never reached the server`)
      expect(times === 1, `One call over ${transport} was carried out ${times} times`)
    }
  },
}
