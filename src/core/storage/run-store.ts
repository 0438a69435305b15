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
  /** Where the provider says what the turn used up; runs of older versions have neither. */
  readonly prompt_tokens?: number
  readonly completion_tokens?: number
  /** Where the prices of the model are known besides. */
  readonly cost?: number
  /** Of a tool call. */
  readonly tool?: string
  readonly params?: unknown
  readonly result?: unknown
  /** The model printed the call as text. */
  readonly recovered?: true
}

/** What was decided about a tool that a model fails with, and by which figures. */
export interface GateDecision {
  readonly tool: string
  readonly decision: 'warn' | 'hide'
  readonly trials: number
  readonly successes: number
  readonly rate: number
  /** What the true rate is at least, with 95 % certainty. */
  readonly lower_bound: number
  /** What the rate would have to be. */
  readonly threshold: number
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
  /** Absent where nothing was decided about any tool. */
  readonly gate?: readonly GateDecision[]
  /** What it can be replayed from: a `RunRecording` as JSON text. */
  readonly recording?: string
}

/** A run without what is long. */
export type ListedRun = Omit<StoredRun, 'steps' | 'gate' | 'recording'>

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
  readonly runs: readonly ListedRun[]
  readonly next?: string
}

/** Reads runs; the ledger writes them. */
export interface RunStore {
  list(filter: RunFilter): Promise<RunPage>
  get(tenant: string, id: string): Promise<StoredRun | undefined>
}
