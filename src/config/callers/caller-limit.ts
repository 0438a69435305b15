/** The limit on the calls of one caller, and how it stands. */
export interface CallerLimit {
  readonly id: string
  readonly name: string
  readonly tenant: string
  readonly calls: number
  readonly per_ms: number
  readonly remaining: number
  /** Until the next call may be made, where none may now. */
  readonly retry_in_ms?: number
  /** Whether it is the key's own, or that of the configuration. */
  readonly set_by: 'key' | 'configuration'
}
