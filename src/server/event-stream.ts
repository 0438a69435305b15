import type { ServerResponse } from 'node:http'
import type { Clock } from '../core/clock.ts'

const HEARTBEAT_MS = 15_000
const PATIENCE_MS = 30_000
const MOST_WAITING_BYTES = 1024 * 1024

/** Server-Sent Events to one client. A client that does not take them is cut off. */
export class EventStream {
  readonly #response: ServerResponse
  readonly #clock: Clock
  readonly #gone = new AbortController()
  #stopHeartbeat: () => void
  /** While the client is behind: when it has caught up, and what cuts it off before. */
  #behind: { readonly caughtUp: Promise<void>; readonly stop: () => void } | undefined

  constructor(response: ServerResponse, clock: Clock) {
    this.#response = response
    this.#clock = clock
    this.#stopHeartbeat = clock.after(HEARTBEAT_MS, this.#beat)
    response.on('error', () => {})
    response.once('close', () => {
      this.#stopHeartbeat()
      this.#behind?.stop()
      this.#gone.abort()
    })
    response.flushHeaders()
  }

  /** Aborts when the client has gone, or the stream has ended. */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  /** Sends an event, its data as JSON; settles when there is room for the next. Nothing is sent to who has gone. */
  send(event: string, data: unknown): Promise<void> {
    return this.#write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  /** Sends an event that has no name, its data as they stand: one line. */
  sendText(data: string): Promise<void> {
    return this.#write(`data: ${data}\n\n`)
  }

  /** Ends the stream behind what has been sent. */
  end(): void {
    this.#stopHeartbeat()
    if (!this.#response.writableEnded) this.#response.end()
    this.#gone.abort()
  }

  readonly #beat = (): void => {
    void this.#write(': still here\n\n')
    if (!this.#response.writableEnded) this.#stopHeartbeat = this.#clock.after(HEARTBEAT_MS, this.#beat)
  }

  #write(text: string): Promise<void> {
    const { destroyed, writableEnded, writableLength } = this.#response
    if (destroyed || writableEnded) return Promise.resolve()
    if (writableLength > MOST_WAITING_BYTES) {
      this.#response.destroy()
      return Promise.resolve()
    }
    if (this.#response.write(text)) return Promise.resolve()
    this.#behind ??= this.#wait()
    return this.#behind.caughtUp
  }

  #wait(): { readonly caughtUp: Promise<void>; readonly stop: () => void } {
    const callOff = this.#clock.after(PATIENCE_MS, () => this.#response.destroy())
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = (): void => {
      this.#response.off('drain', stop)
      callOff()
      this.#behind = undefined
      resolve()
    }
    this.#response.once('drain', stop)
    return { caughtUp: promise, stop }
  }
}
