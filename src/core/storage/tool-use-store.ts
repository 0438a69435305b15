/** How many failures of a model with a tool are kept one by one; older ones are only counted. */
export const KEPT_FAILURES = 20

/** Of how many versions of a tool the counts of a model are kept: those that were used last. */
export const KEPT_SCHEMAS = 10

/** Where it was seen how a model uses a tool: in the case of a suite, or in a real run. */
export type ToolUseSource = 'suite' | 'run'

export interface ToolUseCount {
  readonly trials: number
  readonly successes: number
}

/** One failure of a model with a tool. Texts are short, and secrets taken out, before they get here. */
export interface ToolUseFailure {
  /** ISO 8601. */
  readonly timestamp: string
  readonly source: ToolUseSource
  readonly kind: string
  readonly message: string
  readonly expected?: string
  readonly actual?: string
  /** The run that it happened in. */
  readonly run_id?: string
}

/** How a model used one version of a tool, as it is kept. */
export interface StoredToolUse {
  /** `provider:model`. */
  readonly model_id: string
  readonly tool: string
  /** Names what the model was shown of the tool. */
  readonly schema_hash: string
  readonly suite: ToolUseCount
  readonly run: ToolUseCount
  /** ISO 8601. */
  readonly last_used: string
  readonly failure_kinds: Readonly<Record<string, number>>
  /** The newest last. */
  readonly failures: readonly ToolUseFailure[]
}

/** What is to be added to what a tenant has on record. */
export interface ToolUseAddition extends StoredToolUse {
  readonly tenant: string
}

/** A model that fails with a tool more often than it may. */
export interface DoubtfulToolUse extends ToolUseCount {
  readonly tenant: string
  readonly model_id: string
  readonly tool: string
  readonly schema_hash: string
}

export interface ToolUseStore {
  /** By model, tool and schema. */
  list(tenant: string): Promise<readonly StoredToolUse[]>
  /** Adds counts and failures, all or none. */
  add(additions: readonly ToolUseAddition[]): Promise<void>
  /** Takes the place of everything that the tenant has on record. */
  replace(tenant: string, uses: readonly StoredToolUse[]): Promise<void>
  /** Of all tenants: where at least so many trials were made, and a smaller part than `threshold` succeeded. */
  doubtful(minimumTrials: number, threshold: number): Promise<readonly DoubtfulToolUse[]>
}

/** What is on record, and what is to be added to it, as one. */
export function addToolUse(before: StoredToolUse | undefined, more: StoredToolUse): StoredToolUse {
  const { model_id, tool, schema_hash, last_used, failures } = more
  const kinds: Record<string, number> = { ...before?.failure_kinds }
  for (const [kind, count] of Object.entries(more.failure_kinds)) kinds[kind] = (kinds[kind] ?? 0) + count
  return {
    model_id,
    tool,
    schema_hash,
    suite: sum(before?.suite, more.suite),
    run: sum(before?.run, more.run),
    last_used: before !== undefined && before.last_used > last_used ? before.last_used : last_used,
    failure_kinds: kinds,
    failures: [...(before?.failures ?? []), ...failures].slice(-KEPT_FAILURES),
  }
}

const sum = (before: ToolUseCount | undefined, more: ToolUseCount): ToolUseCount => ({
  trials: (before?.trials ?? 0) + more.trials,
  successes: (before?.successes ?? 0) + more.successes,
})
