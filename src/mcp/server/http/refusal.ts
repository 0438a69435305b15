import type { ServerResponse } from 'node:http'

/** A request that is not served: the status, and the protocol's error in words. */
export class Refusal extends Error {
  readonly status: number
  readonly code: number

  constructor(status: number, code: number, message: string) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.code = code
  }

  answer(response: ServerResponse): void {
    const text = JSON.stringify({ jsonrpc: '2.0', error: { code: this.code, message: this.message }, id: null })
    // A body that was not read to its end would be taken for the next request.
    const close = this.status === 413 ? { connection: 'close' } : {}
    response.writeHead(this.status, { 'content-type': 'application/json', ...close })
    response.end(text)
  }
}
