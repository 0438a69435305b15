/** One thing that happened in a run. Contents are bounded, and secrets taken out, before they get here. */
export interface RunStep {
  readonly type: 'model' | 'tool'
  readonly iteration: number
  readonly started_at: string
  readonly duration_ms: number
  /** Of a model's turn. */
  readonly finish_reason?: string
  readonly text?: string
  readonly tool_calls?: number
  /** Of a tool call. */
  readonly tool?: string
  readonly params?: unknown
  readonly result?: unknown
}

/** A run as it is kept: one conversation from question to answer. */
export interface StoredRun {
  readonly id: string
  readonly tenant: string
  readonly caller: string | null
  /** `provider:model`. */
  readonly model: string
  readonly service: string
  readonly started_at: string
  readonly duration_ms: number
  readonly stop_reason: string
  readonly iterations: number
  readonly tool_calls: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost: number | null
  readonly error: string | null
  readonly question: string
  readonly answer: string
  readonly steps: readonly RunStep[]
}

export interface RunFilter {
  readonly tenant: string
  readonly model?: string
  readonly stopReason?: string
  /** 1 to 200. */
  readonly limit: number
  readonly cursor?: string
}

export interface RunPage {
  /** Newest first, without their steps. */
  readonly runs: readonly Omit<StoredRun, 'steps'>[]
  readonly next?: string
}

/** Reads runs; the ledger writes them. */
export interface RunStore {
  list(filter: RunFilter): Promise<RunPage>
  get(tenant: string, id: string): Promise<StoredRun | undefined>
}
