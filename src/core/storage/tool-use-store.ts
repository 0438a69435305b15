import { ownValue, setOwn } from '../json/json-type.ts'

/** Stored failures per model and tool. Older ones are only counted. */
export const KEPT_FAILURES = 20

/** Versions of a tool with counts per model: the last used ones. */
export const KEPT_SCHEMAS = 10

/** Whether a trial was a suite case or a real run. */
export type ToolUseSource = 'suite' | 'run'

export interface ToolUseCount {
  readonly trials: number
  readonly successes: number
}

/** A failure of a model with a tool. Texts are short and redacted. */
export interface ToolUseFailure {
  readonly timestamp: string
  readonly source: ToolUseSource
  readonly kind: string
  readonly message: string
  readonly expected?: string
  readonly actual?: string
  readonly run_id?: string
}

/** The trials of a model with one version of a tool. */
export interface StoredToolUse {
  readonly model_id: string
  readonly tool: string
  /** A hash of the definition that the model saw. */
  readonly schema_hash: string
  readonly suite: ToolUseCount
  readonly run: ToolUseCount
  readonly last_used: string
  readonly failure_kinds: Readonly<Record<string, number>>
  readonly failures: readonly ToolUseFailure[]
}

export interface ToolUseAddition extends StoredToolUse {
  readonly tenant: string
}

/** A tool that a model fails with too often. */
export interface DoubtfulToolUse extends ToolUseCount {
  readonly tenant: string
  readonly model_id: string
  readonly tool: string
  readonly schema_hash: string
}

export interface ToolUseStore {
  /** Sorted by model, tool and schema. */
  list(tenant: string): Promise<readonly StoredToolUse[]>
  /** All or nothing. */
  add(additions: readonly ToolUseAddition[]): Promise<void>
  /** Replaces all records of the tenant. */
  replace(tenant: string, uses: readonly StoredToolUse[]): Promise<void>
  /** Of all tenants: at least `minimumTrials` trials and a success rate below `threshold`. */
  doubtful(minimumTrials: number, threshold: number): Promise<readonly DoubtfulToolUse[]>
}

export function addToolUse(before: StoredToolUse | undefined, more: StoredToolUse): StoredToolUse {
  const { model_id, tool, schema_hash, last_used, failures } = more
  const kinds: Record<string, number> = { ...before?.failure_kinds }
  for (const [kind, count] of Object.entries(more.failure_kinds))
    setOwn(kinds, kind, (ownValue(kinds, kind) ?? 0) + count)
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
