/** A part of a limit that one server may use. */
export interface LeaseRequest {
  readonly key: string
  /** The limit itself: so many calls in so many milliseconds. */
  readonly calls: number
  readonly perMs: number
  /** The part that this server wants to hold from now on; less than it has gives the rest back. */
  readonly want: number
}

/** Who shares the limits, as far as this server knows. It still knows when the store cannot be reached. */
export interface Company {
  /** How many servers there are, this one among them. */
  readonly servers: number
  /** How long this one had been the only one when it last looked; 0 where it is not. */
  readonly aloneMs: number
  /** The last time that the store could not be reached: how long that took, and how long ago it ended. */
  readonly gap?: { readonly lastedMs: number; readonly agoMs: number }
}

/**
 * Limits that several servers share. The parts of all servers together never exceed the limit; those of a server
 * that has died come free when the time of the limit has passed.
 */
export interface LeaseStore {
  /** What this server holds of each, in the order asked for. */
  lease(requests: readonly LeaseRequest[]): Promise<readonly number[]>
  company(): Promise<Company>
}

/** A result that other servers may answer with. */
export interface CacheEntry {
  readonly key: string
  /** The result as JSON text. */
  readonly text: string
  /** In milliseconds since 1970. */
  readonly expiresAt: number
}

/** Results that servers tell each other, so that no call waits to hear of one. */
export interface CacheFeed {
  put(entries: readonly CacheEntry[]): Promise<void>
  /** What others have put since the last time, oldest first. */
  news(): Promise<readonly CacheEntry[]>
}
