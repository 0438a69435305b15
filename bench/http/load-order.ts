import type { HttpRequest } from './http-request.ts'

/** What the load generator is told to do. */
export interface LoadOrder extends HttpRequest {
  readonly port: number
  readonly connections: number
  readonly ms: number
  /** Whether every request has a connection of its own. */
  readonly fresh?: boolean
  /** Requests a second, whatever the answers take; absent: each connection asks again as soon as it is answered. */
  readonly rate?: number
}

/** What came of it. Times are in milliseconds. */
export interface LoadResult {
  readonly requests: number
  readonly ms: number
  /** From the time at which a request was to be sent to the end of its answer; only where a rate was asked for. */
  readonly p50: number
  readonly p99: number
  /** How much later than it should the generator itself sent, at its 99th percentile. */
  readonly lateP99: number
}
