import { listen } from '../listen.ts'
import type { McpServer } from '../mcp-server.ts'
import { weatherResult } from '../weather-result.ts'

/** The least that can be called a server: reads a message, and answers it with the weather. All ratios are to this. */
export const rawEcho: McpServer = {
  id: 'raw-echo',
  name: 'raw echo, against itself',
  by: 'node:http, JSON.parse, JSON.stringify',
  era: 'session',
  listen: (handler) =>
    listen((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', async () => {
        const { id } = JSON.parse(String(Buffer.concat(chunks))) as { readonly id: unknown }
        const text = JSON.stringify({ jsonrpc: '2.0', id, result: weatherResult(await handler()) })
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
        response.end(text)
      })
    }),
}
