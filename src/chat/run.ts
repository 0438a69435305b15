import type { CallContext } from '../core/call-context.ts'
import type { GateDecision } from '../core/storage/run-store.ts'
import type { ToolResult } from '../core/tool-result.ts'
import type { ModelPrices } from '../models/catalogue/model-info.ts'
import type { Message, Model, ModelEvent, OfferedTool, ToolCall, Usage } from '../models/model.ts'

/** One conversation to be carried to its answer. */
export interface RunRequest {
  readonly model: Model
  readonly messages: readonly Message[]
  /** The rule's `llm`; by default the provider in the model's id. */
  readonly service?: string
  /** Absent: every tool the caller may use; empty: none. */
  readonly allowed_tools?: readonly string[]
  /** The caller's own: offered beside the others, and never run here. A turn that calls one ends the run. */
  readonly client_tools?: readonly OfferedTool[]
  /** Made for this run before its model is asked; they stand first in `tool_calls`. */
  readonly prior_calls?: readonly TrackedCall[]
  readonly max_iterations?: number
  readonly max_tokens?: number
  readonly temperature?: number
  readonly budget?: Budget
  /** Per million tokens; needed for a budget in money. */
  readonly prices?: ModelPrices
  /** Who asks, with what rights; its signal cancels the run. */
  readonly context?: CallContext
}

/** What a run may use up; each is optional, and none is ever exceeded. */
export interface Budget {
  readonly wall_time_ms?: number
  readonly tokens?: number
  readonly cost?: number
}

export type StopReason =
  | 'stop'
  | 'max_iterations'
  | 'repeated_calls'
  | 'timeout'
  | 'budget'
  | 'length'
  | 'content_filter'
  | 'error'
  | 'cancelled'

/** One call of a run: what the model sent, and the whole envelope it got. */
export interface TrackedCall {
  readonly tool: string
  /** The raw text where it was not JSON. */
  readonly params: unknown
  readonly result: ToolResult
  readonly iteration: number
  /** The model wrote the call as text, and it was found there. */
  readonly recovered?: true
  /** The loop did not have it run: it was made before, over and over. */
  readonly not_run?: true
}

export interface RunAnswer {
  readonly content: string
  readonly service: string
  readonly model: string
  readonly tool_calls: readonly TrackedCall[]
  readonly stop_reason: StopReason
  /** Which tools the model was not offered, or is known to fail with; absent where there is none. */
  readonly gate?: readonly GateDecision[]
  /** Calls of `client_tools`, for the caller to run: the model waits for their results. `stop_reason` is then `stop`. */
  readonly client_calls?: readonly ToolCall[]
  readonly max_iterations_reached?: true
  /** What the model said when asked once more without tools, after the limit. */
  readonly final_answer?: string
  /** Why the model did not answer, where `stop_reason` is `error`. */
  readonly error?: string
  /** Summed over all turns, where the provider says it. */
  readonly usage?: Usage
  /** From `prices`. */
  readonly cost?: number
}

/** What happens in a run, as it happens; `gate`, where there is one, is the first, `answer` the last. */
export type RunEvent =
  | { readonly type: 'gate'; readonly decisions: readonly GateDecision[] }
  | Exclude<ModelEvent, { type: 'finish' }>
  /** What a turn used up, when it is over and before its calls are made; only where the provider says it. */
  | { readonly type: 'usage'; readonly usage: Usage; readonly cost?: number }
  | { readonly type: 'call-progress'; readonly id: string; readonly tool: string; readonly progress: unknown }
  | { readonly type: 'call-result'; readonly id: string; readonly call: TrackedCall }
  | { readonly type: 'answer'; readonly answer: RunAnswer; readonly messages: readonly Message[] }
