/** A step of a run. Contents are bounded and redacted. */
export interface RunStep {
  readonly type: 'model' | 'tool'
  readonly iteration: number
  readonly started_at: string
  readonly duration_ms: number
  /** For type `model`. */
  readonly finish_reason?: string
  readonly text?: string
  readonly tool_calls?: number
  /** If the provider reports it. Runs of older versions have neither. */
  readonly prompt_tokens?: number
  readonly completion_tokens?: number
  /** If the prices of the model are known. */
  readonly cost?: number
  /** For type `tool`. */
  readonly tool?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly recovered?: true
}

/** A decision of the validation gate about a tool, and its statistics. */
export interface GateDecision {
  readonly tool: string
  readonly decision: 'warn' | 'hide'
  readonly trials: number
  readonly successes: number
  readonly rate: number
  /** The lower bound of the success rate with 95 % confidence. */
  readonly lower_bound: number
  readonly threshold: number
}

/** A stored run: one conversation from question to answer. */
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
  /** Absent if the gate made no decision. */
  readonly gate?: readonly GateDecision[]
  /** The run whose call started this one, if it is the run of an agent. */
  readonly parent_run?: string
  /** The tool that it is the run of, if that is an agent. Absent in runs of older versions. */
  readonly agent?: string
  /** No tool ran: the calls got mock results. */
  readonly mocked?: true
  /** For replay: a `RunRecording` as JSON text. */
  readonly recording?: string
}

export interface ListedRun extends Omit<StoredRun, 'steps' | 'gate' | 'recording' | 'parent_run'> {
  /** In lists: how many people think that the answer is good, and bad. Absent if nobody has rated it. */
  readonly ratings?: { readonly good: number; readonly bad: number }
}

export interface RunFilter {
  readonly tenant: string
  readonly model?: string | undefined
  readonly stopReason?: string | undefined
  /** Only runs that called this tool. */
  readonly tool?: string | undefined
  /** The id of the API key. */
  readonly caller?: string | undefined
  /** Only runs that somebody has rated so. */
  readonly rating?: 'good' | 'bad' | undefined
  /** Inclusive, in milliseconds since 1970. */
  readonly from?: number | undefined
  /** Exclusive. */
  readonly to?: number | undefined
  readonly limit: number
  readonly cursor?: string | undefined
}

export interface RunPage {
  readonly runs: readonly ListedRun[]
  readonly next?: string
}

/** Reads runs. The ledger writes them. */
export interface RunStore {
  list(filter: RunFilter): Promise<RunPage>
  get(tenant: string, id: string): Promise<StoredRun | undefined>
  /** The first `limit` runs of agents that a run has called. */
  children(tenant: string, id: string, limit: number): Promise<readonly ListedRun[]>
  /** The tenant of a run, to record that another one asked for it. */
  tenantOf(id: string): Promise<string | undefined>
  /** Removes the oldest runs of a tenant that has more than `most`. Returns how many. */
  trim(tenant: string, most: number): Promise<number>
}
