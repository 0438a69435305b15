/** What one cell holds: something to count in, and its form as bytes. */
export interface Figures {
  /** Starts with the version of its form. */
  encode(): Uint8Array
  /** Adds what another one encoded; throws where that cannot be read. */
  merge(data: Uint8Array): void
}
