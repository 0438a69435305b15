import type { Params, ToolDefinition } from '../../core/tool.ts'
import type { Message } from '../../models/model.ts'

/** A call that a model made, or tried to make. */
export interface ObservedCall {
  /** As registered; what the model said where there is no such tool. */
  readonly tool: string
  /** Undefined where the arguments were no JSON object. */
  readonly params: Params | undefined
  /** Why the call was refused before it ran, such as `INVALID_PARAMETERS` or `TOOL_NOT_FOUND`. */
  readonly refused?: string
}

/** What a model did in one turn of the person: its calls in their order, and what it said at the end. */
export interface ObservedTurn {
  readonly calls: readonly ObservedCall[]
  readonly answer: string
}

/** What was wrong with it. */
export type FailureKind =
  | 'wrong_count'
  | 'wrong_tool'
  | 'missing_parameter'
  | 'unexpected_parameter'
  | 'wrong_type'
  | 'wrong_value'
  | 'wrong_order'
  | 'unwanted_call'
  | 'forbidden_call'
  | 'malformed_call'
  | 'wrong_answer'
  /** The model could not be asked, or the run ended by a limit: says nothing about what it can. */
  | 'not_answered'

/** Whether a case was passed, and if not, why, with what was expected beside what came. */
export type Verdict =
  | { readonly passed: true }
  | {
      readonly passed: false
      readonly kind: FailureKind
      /** One sentence that names the tool and the parameter, and quotes the value. */
      readonly message: string
      /** The tool that was used wrongly, where it was one. */
      readonly tool?: string
      readonly expected?: unknown
      readonly actual?: unknown
    }

/** One question to a model, and how its behaviour is judged. */
export interface SuiteCase {
  /** Unique in its suite. */
  readonly id: string
  /** What the person says, turn by turn; messages of other roles may stand before it. */
  readonly turns: readonly (readonly Message[])[]
  /** What the model is offered. */
  readonly tools: readonly ToolDefinition[]
  /** What tools answer, by name; one without an answer gives `{"ok": true}`. Nothing real is ever called. */
  readonly mocks: Readonly<Record<string, unknown>>
  /** The answers of the model that are looked at in each turn: 1 ends a turn with its first calls. */
  readonly max_iterations: number
  /** The tools that the case is about, by which its outcome is counted: those of the calls expected. */
  readonly about: readonly string[]
  /** What is right, to be read by people. */
  readonly expected?: unknown
  judge(turns: readonly ObservedTurn[]): Verdict
}

/** Cases that are run together. */
export interface Suite {
  /** Such as `bfcl:simple_python`, `generated` or the name of a file. */
  readonly name: string
  readonly cases: readonly SuiteCase[]
  /** What must be said beside its figures, such as that they are not comparable with published ones. */
  readonly remark?: string
}
