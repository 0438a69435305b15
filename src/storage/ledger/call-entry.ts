import type { CallRecord } from '../../core/recorder.ts'
import type { CallEntry } from '../../core/storage/ledger.ts'

/** What the ledger is told of a call. `epoch` makes the time of day of the clock's. */
export const callEntry = (record: CallRecord, epoch: number): CallEntry => ({
  at: epoch + record.startedMs,
  tenant: record.tenant,
  caller: record.caller ?? null,
  source: record.source ?? null,
  runId: record.runId ?? null,
  tool: record.tool,
  model: record.model ?? null,
  schemaHash: record.schemaHash ?? null,
  params: record.params === undefined ? null : jsonText(record.params),
  code: record.code ?? null,
  unknown: record.outcomeUnknown,
  durationMs: record.executionTimeMs,
  attempts: record.attempts,
})

function jsonText(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? null
  } catch {
    return null
  }
}
