import type { RunRecording } from '../../chat/run-recording.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import { CASSETTE_VERSION, type Cassette } from './cassette.ts'
import { CassetteError } from './cassette-error.ts'

/** The cassette of a run that was kept. Throws a `CassetteError` where its contents were not. */
export function runCassette(run: StoredRun): Cassette {
  if (run.recording === undefined) {
    throw new CassetteError(
      `Run '${run.id}' cannot be replayed: its contents were not kept ("storage.runs" is false, or it is of an older version)`,
    )
  }
  const { incomplete, request, turns, calls, answer } = JSON.parse(run.recording) as RunRecording
  return {
    cassette: CASSETTE_VERSION,
    run_id: run.id,
    recorded_at: run.started_at,
    model: run.model,
    service: run.service,
    duration_ms: run.duration_ms,
    complete: incomplete.length === 0,
    incomplete,
    ...(run.gate !== undefined && { gate: run.gate }),
    request,
    turns,
    calls,
    answer,
  }
}
