import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answer, type Incoming } from './answer.ts'

/** An MCP server over streamable HTTP, written without an SDK, that can be restarted at the same address. */
export class HttpServer {
  readonly #folder: string
  #server: Server | undefined
  #port = 0
  #sessions = new Set<string>()

  constructor(folder: string) {
    this.#folder = folder
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response))
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
  }

  /** Ends every connection and forgets every session, as the end of its process would. */
  async stop(): Promise<void> {
    this.#sessions = new Set()
    const server = this.#server
    await new Promise<void>((resolve) => {
      if (server === undefined) return resolve()
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const end = (status: number, body?: object, headers: Record<string, string> = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(body === undefined ? undefined : JSON.stringify(body))
    }
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method === 'DELETE') return end(200, {})
    // This server has nothing to say by itself.
    if (request.method !== 'POST') return end(405)
    const message = JSON.parse(text) as Incoming
    const headers: Record<string, string> = {}
    if (message.method === 'initialize') {
      const session = randomUUID()
      this.#sessions.add(session)
      headers['mcp-session-id'] = session
    } else {
      const session = request.headers['mcp-session-id']
      if (session === undefined) return end(400, problem(message, 'Mcp-Session-Id header is required'))
      if (!this.#sessions.has(String(session))) return end(404, problem(message, 'Session not found'))
    }
    const outcome = await answer(message, this.#folder)
    if (outcome === 'lost') request.socket.destroy()
    else if (outcome !== undefined) end(200, outcome, headers)
    else if (message.id === undefined) end(202)
  }
}

const problem = (message: Incoming, text: string) => ({
  jsonrpc: '2.0',
  id: message.id ?? null,
  error: { code: -32001, message: text },
})
