import type { HttpRequest } from './http-request.ts'
import type { ServerProcess } from './server-process.ts'

/** A server that has been started, and what it is asked. */
export interface Serving {
  readonly server: ServerProcess
  readonly request: HttpRequest
  /** Throws unless all of so many requests have been recorded. */
  check(requests: number): Promise<void>
  close(): Promise<void>
}

/** Something that answers over HTTP. */
export interface HttpServer {
  readonly id: string
  readonly name: string
  /** What it is asked. */
  readonly asked: string
  /** How much more there is to do for one of its requests than for a bare one, about: so many fewer warm it up. */
  readonly weight: number
  /** Whether its times at a fixed rate are measured as well. */
  readonly paced: boolean
  /** Whether every request has a connection of its own, also on the bare server that it is compared with. */
  readonly fresh?: boolean
  start(): Promise<Serving>
}
