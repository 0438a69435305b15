import type { JsonSchema, Params, ToolDefinition } from '../../core/tool.ts'
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

/** A suite that cannot be run as it is; the message names the file, the case, the path and what to do. */
export class SuiteError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SuiteError'
  }
}

/** A suite as its author wrote it. */
export interface SuiteFile {
  readonly $schema?: string
  /** What the suite is called in reports; by default the name of its file. */
  readonly name?: string
  /** What must be said beside its figures. */
  readonly remark?: string
  readonly cases: readonly FileCase[]
}

/** One question, and what is expected of a model that is asked it. */
export interface FileCase {
  /** Unique in the file; by default `case` and its number. */
  readonly id?: string
  /** What the person says. */
  readonly query: string
  /** What was said before. */
  readonly messages?: readonly Message[]
  /** What the model is offered: names of registered tools, or whole tools. Absent: every registered tool. */
  readonly tools?: readonly (string | FileTool)[]
  /** What tools answer, by name; one without an answer gives `{"ok": true}`. */
  readonly mocks?: Readonly<Record<string, unknown>>
  readonly expect: Expectation
  /** How often the case is run; 1 unless given. */
  readonly repeat?: number
}

/** A tool that need not be registered: it is never run, so it has no implementation. */
interface FileTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
}

/** What is right; at least one of these, and all of them must hold. */
export interface Expectation {
  /** Exactly these calls. */
  readonly calls?: readonly ExpectedCall[]
  /** Whether the calls must come as they are listed; `any` unless given. */
  readonly order?: 'any' | 'given'
  /** No call at all. */
  readonly no_call?: true
  /** Tools that must not be called. */
  readonly forbidden?: readonly string[]
  /** A regular expression for what the model says at the end, such as `/sunny/i`. */
  readonly answer_matches?: string
}

/** One call; without `params` any parameters are right, in it values may be matchers. */
export interface ExpectedCall {
  readonly tool: string
  readonly params?: Params
}
