import type { JsonSchema, Params } from '../../core/tool.ts'
import type { Message } from '../../models/model.ts'

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
export interface FileTool {
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
