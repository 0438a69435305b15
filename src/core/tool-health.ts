/** Whether the service behind a tool is asked at all. */
export interface CircuitState {
  readonly state: 'closed' | 'open' | 'half_open'
  /** How often it has failed in a row. */
  readonly failures: number
  /** Until it is tried again. */
  readonly retry_in_ms?: number
  /** When it was opened, or a trial began, in milliseconds since 1970. */
  readonly since?: number
}

/** How it stands with a tool; what it does not have is absent. */
export interface ToolHealth {
  readonly circuit?: CircuitState
  /** `remaining` is what may be called now, as far as this server knows. */
  readonly rate_limit?: { readonly calls: number; readonly per_ms: number; readonly remaining: number }
  /** How many calls of all tenants run now, where only so many may. */
  readonly concurrency?: { readonly most: number; readonly running: number }
}
