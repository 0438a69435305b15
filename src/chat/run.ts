import type { CallContext } from '../core/call-context.ts'
import type { Described } from '../core/json/described.ts'
import type { ReadSchema } from '../core/schema/json-schema-of.ts'
import type { GateDecision } from '../core/storage/run-store.ts'
import type { ToolResult } from '../core/tool-result.ts'
import type { Message, Model, ModelEvent, OfferedTool, ToolCall, Usage } from '../models/model.ts'
import type { ModelPrices } from '../models/model-info.ts'
import type { Journal } from './journal.ts'

/** A conversation to run with a model and its tools. */
export interface RunRequest {
  readonly model: Model
  readonly messages: readonly Message[]
  /** The rule's `llm`; by default the provider in the model's id. */
  readonly service?: string
  /** Every permitted tool by default. */
  readonly allowed_tools?: readonly string[]
  /** Calls of `write` tools wait for approval, even if their definition does not demand it. */
  readonly ask_writes?: boolean
  /** Tools that the client runs. A turn that calls one ends the run. */
  readonly client_tools?: readonly OfferedTool[]
  /** Calls made before the model is asked. */
  readonly prior_calls?: readonly TrackedCall[]
  /** The first turn must call a tool, or this one. */
  readonly tool_choice?: 'required' | { readonly name: string }
  /** The answer must be JSON of this schema. The model gets a second attempt if it isn't. */
  readonly output?: ReadSchema
  /** Runs of a tenant with the same key share what the provider caches of their prompts. */
  readonly cache_key?: string | undefined
  readonly max_iterations?: number
  readonly max_tokens?: number | undefined
  readonly temperature?: number | undefined
  readonly budget?: Budget
  /** USD per million tokens; required for a cost budget. */
  readonly prices?: ModelPrices | undefined
  /** The caller and its permissions; the signal cancels the run. */
  readonly context?: CallContext
  /** The run whose call started this one. */
  readonly parent_run?: string | undefined
  /** The tool whose call started it, if that is an agent. */
  readonly agent?: string
  /** The tools are mocks. */
  readonly mocked?: true
  /** The stored steps of the run. Without it, the model is told that a call needs approval, and the run goes on. */
  readonly journal?: Journal
}

export const RUN_BUDGET_SCHEMA = {
  type: 'object',
  description: 'The limits of one run.',
  additionalProperties: false,
  properties: {
    wall_time_ms: { type: 'integer', minimum: 1 },
    tokens: { type: 'integer', minimum: 1 },
    cost: { type: 'number', exclusiveMinimum: 0, description: "In the currency of the model's prices." },
  },
} as const

/** Hard limits of a run. */
export interface Budget extends Described<typeof RUN_BUDGET_SCHEMA> {}

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
  | 'approval_required'

/** A call with the parameters that the model sent, and its result. */
export interface TrackedCall {
  readonly tool: string
  /** The raw text if it isn't JSON. */
  readonly params: unknown
  readonly result: ToolResult
  readonly iteration: number
  /** The model wrote the call as text. */
  readonly recovered?: true
  /** The loop refused a repeated call. */
  readonly not_run?: true
}

/** A call that waits for approval. */
export interface PendingApproval {
  readonly id: string
  readonly tool: string
  readonly params: unknown
  /** Set when the run is stored. */
  readonly requested_at?: string
  readonly expires_at: string
}

export interface RunAnswer {
  readonly content: string
  readonly service: string
  readonly model: string
  readonly tool_calls: readonly TrackedCall[]
  readonly stop_reason: StopReason
  /** Set if `stop_reason` is `approval_required`: the run goes on when all of them are decided or have expired. */
  readonly status?: 'waiting'
  readonly approvals?: readonly PendingApproval[]
  /** Set for a run that waits. */
  readonly run_id?: string
  /** The decisions of the validation gate. */
  readonly gate?: readonly GateDecision[]
  /** Calls of `client_tools` that the client has to run; `stop_reason` is `stop`. */
  readonly client_calls?: readonly ToolCall[]
  readonly max_iterations_reached?: true
  /** The answer to the final request without tools, after `max_iterations`. */
  readonly final_answer?: string
  /** The parsed answer, if the run has `output` and `stop_reason` is `stop`. */
  readonly output?: unknown
  /** Set if `stop_reason` is `error`. */
  readonly error?: string
  /** Set if the provider failed, the answer doesn't fit the request (422), or a budget refused the run: the status for a gateway. */
  readonly error_status?: 422 | 429 | 502 | 503 | 504
  /** When the provider may work again, if it says so, or when the budget resets. */
  readonly retry_after_ms?: number
  /** The sum of all turns, if the provider reports usage. */
  readonly usage?: Usage
  /** What turns and calls cost, in units of `costs.currency`; absent if no cost is known. */
  readonly cost?: number
  /** How many turns and calls of it have an unknown cost. Calls of tools that name no cost don't count. */
  readonly unknown_costs?: number
  /** Such as that a budget is spent; absent if there are none. */
  readonly warnings?: readonly string[]
}

/** The events of a run: `gate` comes first, if at all, and `answer` last. */
export type RunEvent =
  | { readonly type: 'gate'; readonly decisions: readonly GateDecision[] }
  | Exclude<ModelEvent, { type: 'finish' }>
  /** After each turn, if the provider reports usage. */
  | { readonly type: 'usage'; readonly usage: Usage; readonly cost?: number }
  | { readonly type: 'call-progress'; readonly id: string; readonly tool: string; readonly progress: unknown }
  | { readonly type: 'call-result'; readonly id: string; readonly call: TrackedCall }
  | { readonly type: 'answer'; readonly answer: RunAnswer; readonly messages: readonly Message[] }
