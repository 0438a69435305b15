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
