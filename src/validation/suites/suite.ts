import type { JsonSchema, Params, ToolDefinition } from '../../core/tool.ts'
import type { Message } from '../../models/model.ts'

/** The task of jobs that run suites. */
export const SUITES = 'toolyard/suites'

export interface ObservedCall {
  /** The registered name, or what the model wrote if there is no such tool. */
  readonly tool: string
  /** Undefined if the arguments weren't a JSON object. */
  readonly params: Params | undefined
  /** Why the call was refused before it ran, such as `INVALID_PARAMETERS` or `TOOL_NOT_FOUND`. */
  readonly refused?: string
}

/** The model's calls, in order, and its final answer in one user turn. */
export interface ObservedTurn {
  readonly calls: readonly ObservedCall[]
  readonly answer: string
}

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
  /** The request failed or hit a limit, so nothing is known about the model's ability. */
  | 'not_answered'

/** Whether a case passed; if not, why, with expected and actual values. */
export type Verdict =
  | { readonly passed: true }
  | {
      readonly passed: false
      readonly kind: FailureKind
      /** One sentence that names the tool and the parameter, and quotes the value. */
      readonly message: string
      /** The tool that was used wrongly, if the failure is about one. */
      readonly tool?: string
      readonly expected?: unknown
      readonly actual?: unknown
    }

/** A request to a model, and how its behaviour is judged. */
export interface SuiteCase {
  readonly id: string
  /** The user's messages, turn by turn; messages with other roles may precede them. */
  readonly turns: readonly (readonly Message[])[]
  readonly tools: readonly ToolDefinition[]
  /** Mock results by tool name; `{"ok": true}` by default. Real tools are never called. */
  readonly mocks: Readonly<Record<string, unknown>>
  /** The number of model responses in each turn: 1 ends a turn after the first calls. */
  readonly max_iterations: number
  /** The tools that the outcome counts for: those of the expected calls. */
  readonly about: readonly string[]
  /** The expectation, for people to read. */
  readonly expected?: unknown
  judge(turns: readonly ObservedTurn[]): Verdict
}

export interface Suite {
  readonly name: string
  readonly cases: readonly SuiteCase[]
  /** A caveat shown beside the results, for example that they aren't comparable with published ones. */
  readonly remark?: string
}

/** A suite can't be run; the message names the file, the case, the path and what to do. */
export class SuiteError extends Error {
  override readonly name = 'SuiteError'
}

/** The contents of a suite file. */
export interface SuiteFile {
  readonly $schema?: string
  /** The name in reports; the file name by default. */
  readonly name?: string
  readonly remark?: string
  readonly cases: readonly FileCase[]
}

export interface FileCase {
  /** Unique in the file; by default `case` and its number. */
  readonly id?: string
  readonly query: string
  readonly messages?: readonly Message[]
  /** Names of registered tools, or whole tools; every registered tool by default. */
  readonly tools?: readonly (string | FileTool)[]
  readonly mocks?: Readonly<Record<string, unknown>>
  readonly expect: Expectation
  readonly repeat?: number
}

/** A tool that isn't registered; it is never run, so it has no implementation. */
interface FileTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
}

/** The conditions for a pass: at least one, and all must hold. */
export interface Expectation {
  readonly calls?: readonly ExpectedCall[]
  /** Whether the calls must come in the listed order; `any` by default. */
  readonly order?: 'any' | 'given'
  readonly no_call?: true
  readonly forbidden?: readonly string[]
  /** A regular expression for the final answer, such as `/sunny/i`. */
  readonly answer_matches?: string
}

/** An expected call; any parameters are right without `params`, whose values may be matchers. */
export interface ExpectedCall {
  readonly tool: string
  readonly params?: Params
}
