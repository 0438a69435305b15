import type { ModelPrices } from '../models/catalogue/model-info.ts'
import type { Message, OfferedTool, Usage } from '../models/model.ts'
import type { Budget, RunAnswer, TrackedCall } from './run.ts'

/** What a model was asked in a run, whole, but for secrets. */
export interface RecordedRequest {
  readonly messages: readonly Message[]
  /** The names of the tools that were offered. */
  readonly offered: readonly string[]
  /** Of those that were called, what the model was shown. */
  readonly tools: readonly OfferedTool[]
  readonly client_tools?: readonly OfferedTool[]
  readonly max_iterations: number
  readonly max_tokens?: number
  readonly temperature?: number
  readonly budget?: Budget
  readonly prices?: ModelPrices
}

export interface RecordedModelCall {
  readonly id: string
  readonly name: string
  /** As the model wrote it. */
  readonly arguments: string
  readonly recovered?: true
}

/** One answer of the model. */
export interface RecordedTurn {
  readonly text: string
  readonly calls: readonly RecordedModelCall[]
  /** A stop reason where the turn did not come to its finish. */
  readonly finish_reason: string
  /** What the model failed with, where it said so. */
  readonly error?: string
  readonly usage?: Usage
  /** Since the run began. */
  readonly started_ms: number
  readonly duration_ms: number
}

/** One call of a tool; those of iteration 0 were made before the model was asked. */
export interface RecordedCall extends TrackedCall {
  /** Its place in its turn. */
  readonly index: number
  readonly started_ms: number
  readonly duration_ms: number
}

/** Everything that a run can be replayed from. */
export interface RunRecording {
  /** What is not in it, in sentences; empty where it is whole. */
  readonly incomplete: readonly string[]
  readonly request: RecordedRequest
  readonly turns: readonly RecordedTurn[]
  readonly calls: readonly RecordedCall[]
  readonly answer: Pick<RunAnswer, 'content' | 'stop_reason' | 'final_answer' | 'error'>
}
