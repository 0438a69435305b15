/** What the configuration says; every section is optional. Entries of `registry` are checked one by one when loaded. */
export interface Config {
  readonly $schema?: string
  readonly tools?: {
    readonly enabled?: boolean
    readonly max_iterations?: number
    readonly default_timeout_ms?: number
    readonly max_parallel_calls?: number
    readonly registry?: readonly unknown[]
  }
}
