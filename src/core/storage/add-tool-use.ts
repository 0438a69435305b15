import { KEPT_FAILURES, type StoredToolUse, type ToolUseCount } from './tool-use-store.ts'

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
