import type { RecordedCall, RecordedTurn, RunRecording } from '../../chat/run-recording.ts'
import type { GateDecision } from '../../core/storage/run-store.ts'

/** The version that is written; of another one nothing is read. */
export const CASSETTE_VERSION = 1

/** A run that can be replayed without its model and its tools: what was asked, every answer, every call, the end. */
export interface Cassette {
  /** The version of this form. */
  readonly cassette: typeof CASSETTE_VERSION
  readonly run_id: string
  /** ISO 8601. */
  readonly recorded_at: string
  /** `provider:model`. */
  readonly model: string
  readonly service: string
  readonly duration_ms: number
  /** Whether it can be replayed strictly. */
  readonly complete: boolean
  /** What is not in it, in sentences. */
  readonly incomplete: readonly string[]
  readonly gate?: readonly GateDecision[]
  readonly request: RunRecording['request']
  readonly turns: readonly RecordedTurn[]
  readonly calls: readonly RecordedCall[]
  readonly answer: RunRecording['answer']
}
