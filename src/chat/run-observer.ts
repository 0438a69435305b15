import type { RunAnswer, StopReason, TrackedCall } from './run.ts'
import type { TurnReader } from './turn-reader.ts'

/** Follows one run as it goes on. It throws nothing: what it makes of the run is no business of the run. */
export interface RunObserver {
  /** A turn of the model begins. */
  asked(turn: TurnReader): void
  /** It is over; `failed` says what of, where it did not come to its finish. */
  heard(turn: TurnReader, failed?: StopReason): void
  /** A call has its result; `index` is its place in its turn. */
  called(call: TrackedCall, index: number): void
  /** The run is over: told once, and last. */
  ended(answer: RunAnswer, iterations: number): void
}

export const NOBODY: readonly RunObserver[] = Object.freeze([])
