import type { HttpMethod } from './http-implementation.ts'

/** One request, ready to be sent. */
export interface OutgoingRequest {
  readonly method: HttpMethod
  /** Scheme, host and port, such as `https://api.example.com`. */
  readonly origin: string
  /** Path and query, encoded. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The headers, by name, that carry a secret: they go to no other origin. */
  readonly credentials?: readonly string[]
  readonly body?: string
}

/** What came back, whole and inflated. */
export interface HttpResponse {
  readonly status: number
  /** Names in lower case; what was sent several times is joined by `, `. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** Where it came from in the end, without its query. */
  readonly origin: string
  readonly path: string
}
