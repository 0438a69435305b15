import type { ServerResponse } from 'node:http'
import type { Notice } from '../report-reader.ts'

const EVENT_STREAM = [
  ...['content-type', 'text/event-stream', 'cache-control', 'no-cache, no-transform'],
  ...['connection', 'keep-alive', 'x-accel-buffering', 'no'],
]

/** A client that takes nothing is told nothing more than this. */
const MOST_PENDING_BYTES = 1024 * 1024

/** The answer to one request: a JSON document, or, where something is to be told before it, a stream of events. */
export class Reply {
  readonly #response: ServerResponse
  readonly #id: string
  readonly #sessionHeader: readonly string[]
  #streams = false

  constructor(response: ServerResponse, id: string | number, sessionId: string | undefined) {
    this.#response = response
    this.#id = JSON.stringify(id)
    this.#sessionHeader = sessionId === undefined ? [] : ['mcp-session-id', sessionId]
  }

  notify(notice: Notice): void {
    const { writableEnded, destroyed, writableLength } = this.#response
    if (writableEnded || destroyed || writableLength > MOST_PENDING_BYTES) return
    if (!this.#streams) {
      this.#streams = true
      this.#response.writeHead(200, [...EVENT_STREAM, ...this.#sessionHeader])
    }
    this.#response.write(event(JSON.stringify({ jsonrpc: '2.0', ...notice })))
  }

  /** Ends with a result, which is given as text. */
  result(json: string): void {
    this.#end(`{"result":${json},"jsonrpc":"2.0","id":${this.#id}}`)
  }

  error(code: number, message: string, data: unknown): void {
    this.#end(`{"jsonrpc":"2.0","id":${this.#id},"error":${JSON.stringify({ code, message, data })}}`)
  }

  /** Ends without an answer: nobody waits for that of a cancelled request. */
  drop(): void {
    if (!this.#streams) this.#response.writeHead(202, [...this.#sessionHeader])
    this.#response.end()
  }

  #end(text: string): void {
    if (this.#streams) {
      this.#response.end(event(text))
      return
    }
    const length = String(Buffer.byteLength(text))
    const headers = ['content-type', 'application/json', 'content-length', length, ...this.#sessionHeader]
    this.#response.writeHead(200, headers)
    this.#response.end(text)
  }
}

const event = (text: string): string => `event: message\ndata: ${text}\n\n`
