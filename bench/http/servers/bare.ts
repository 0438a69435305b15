import { NAME, PARAMS, WEATHER } from '../../weather.ts'
import { postJson } from '../http-request.ts'
import type { HttpServer } from '../http-server.ts'
import { ServerProcess } from '../server-process.ts'

const PROGRAM = new URL('../bare-server.ts', import.meta.url)

/** Every ratio is to this one. */
export const bare: HttpServer = {
  id: 'bare',
  name: 'bare `node:http`, against itself',
  asked: 'POST /tools/execute',
  weight: 1,
  paced: true,
  async start() {
    const server = await ServerProcess.start(PROGRAM, [])
    const text = postJson('/tools/execute', { tool_name: NAME, params: PARAMS }, {})
    return {
      server,
      request: { text, expects: WEATHER.condition },
      check: async () => {},
      close: () => server.close(),
    }
  },
}
