/** What is known of a model: an entry of `models`, or what its provider says of it. */
export interface ModelInfo {
  /** `provider:model`, split at the first colon. */
  readonly id: string
  readonly name: string
  /** Holds `function-calling` where the model takes tools. */
  readonly capabilities: readonly string[]
  readonly prices?: ModelPrices
  /** `read` if not given. */
  readonly printed_calls?: PrintedCalls
}

/** The tools whose calls are made if the model prints them as text: none, those that only read, or all. */
export type PrintedCalls = 'off' | 'read' | 'all'

/** Per million tokens. */
export interface ModelPrices {
  readonly input: number
  readonly output: number
}
