import type { Connection } from './mcp-client.ts'

/** Streamable HTTP with a session, which is begun anew where the server does not know it any more. */
export class HttpConnection implements Connection {
  readonly #url: string
  readonly #hello: (connection: Connection) => Promise<unknown>
  #session: string | undefined
  #id = 0
  readonly lost = false

  constructor(url: string, hello: (connection: Connection) => Promise<unknown>) {
    this.#url = url
    this.#hello = hello
  }

  async request(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    const isHello = method === 'initialize'
    if (!isHello && this.#session === undefined) await this.#hello(this)
    let response = await this.#post(method, params, signal)
    if (response.status === 404 && !isHello) {
      // The server has not run it: it does not know who asks.
      this.#session = undefined
      await this.#hello(this)
      response = await this.#post(method, params, signal)
    }
    this.#session ??= response.headers.get('mcp-session-id') ?? undefined
    const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } }
    if (error !== undefined) throw new Error(error.message)
    return result
  }

  close(): void {}

  #post(method: string, params: object, signal: AbortSignal | undefined): Promise<Response> {
    return fetch(this.#url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(this.#session !== undefined && { 'mcp-session-id': this.#session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++this.#id, method, params }),
      ...(signal !== undefined && { signal }),
    })
  }
}
