import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { NAME, PARAMS } from '../../weather.ts'
import type { McpClient } from '../mcp-client.ts'
import { STDIO_COMMAND } from '../stdio-command.ts'

/** The least that can be called a client: a line out, a line in, and who waits for it. All ratios are to this. */
export const rawEcho: McpClient = {
  id: 'raw-echo',
  name: 'raw echo, against itself',
  call: 'JSON.stringify, JSON.parse, Map',
  async connect() {
    const { command, args } = STDIO_COMMAND
    const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    const waiting = new Map<number, (result: unknown) => void>()
    let rest = ''
    server.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const { id, result } = JSON.parse(line) as { readonly id: number; readonly result: unknown }
        waiting.get(id)?.(result)
        waiting.delete(id)
      }
    })
    let id = 0
    return {
      call: () =>
        new Promise((resolve) => {
          waiting.set(++id, resolve)
          const params = { name: NAME, arguments: PARAMS }
          server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`)
        }),
      async close() {
        const ended = once(server, 'exit')
        server.stdin.end()
        await ended
      },
    }
  },
}
