import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as it came over the wire. */
export interface Received {
  readonly method: string
  /** Path and query, still encoded. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** What clients with credentials of their own get. */
export const TOKEN = 'token-of-the-local-server'
const TOKEN_PATH = '/-/token'
const LONGEST_HEAD = 4 * 1024 * 1024

/** A server on this machine that keeps what it is asked, and answers as the document says. */
export class RecordingServer {
  readonly #server: Server
  #received: Received[] = []
  #status = 200
  #type = 'application/json'

  private constructor() {
    this.#server = createServer(
      { maxHeaderSize: LONGEST_HEAD, keepAliveTimeout: 600_000 },
      async (request, response) => {
        const { method = '', url: target = '', headers } = request
        let body = ''
        request.setEncoding('utf8')
        for await (const piece of request) body += piece
        if (target === TOKEN_PATH) {
          const token = { access_token: TOKEN, token_type: 'bearer', expires_in: 3600 }
          response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(token))
          return
        }
        this.#received.push({ method, target, headers, body })
        response.writeHead(this.#status, { 'content-type': this.#type })
        response.end(this.#status === 204 || method === 'HEAD' ? undefined : '{"answered":true}')
      },
    )
  }

  static async start(): Promise<RecordingServer> {
    const server = new RecordingServer()
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get tokenUrl(): string {
    return `${this.url}${TOKEN_PATH}`
  }

  /** How the next request is answered; forgets those before. */
  prepare(status: number, answers: readonly string[]): void {
    this.#received = []
    this.#status = status
    this.#type = answers.some((type) => /json/i.test(type)) || answers.length === 0 ? 'application/json' : 'text/plain'
  }

  get received(): readonly Received[] {
    return this.#received
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
