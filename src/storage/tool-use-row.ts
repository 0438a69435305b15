import { KEPT_FAILURES, type StoredToolUse } from '../core/storage/tool-use-store.ts'

/** How a model uses a tool, as a row of a table: what is asked for by itself in columns, the rest as JSON. */
export interface ToolUseRow {
  readonly model_id: string
  readonly tool: string
  readonly schema_hash: string
  readonly trials: number
  readonly successes: number
  readonly last_used: string
  readonly details: string
}

export function toToolUseRow(use: StoredToolUse): ToolUseRow {
  const { model_id, tool, schema_hash, last_used, suite, run, failure_kinds } = use
  const failures = use.failures.slice(-KEPT_FAILURES)
  return {
    model_id,
    tool,
    schema_hash,
    trials: suite.trials + run.trials,
    successes: suite.successes + run.successes,
    last_used,
    details: JSON.stringify({ suite, run, failure_kinds, failures }),
  }
}

export function fromToolUseRow({ model_id, tool, schema_hash, last_used, details }: ToolUseRow): StoredToolUse {
  const { suite, run, failure_kinds, failures } = JSON.parse(details)
  return { model_id, tool, schema_hash, suite, run, last_used, failure_kinds, failures }
}
