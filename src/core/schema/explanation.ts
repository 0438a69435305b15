import type { Problem } from '../tool-result.ts'
import type { Pattern } from './linear-pattern.ts'
import { boundedValue, ruleInWords } from './problem-words.ts'
import type { SchemaReferences } from './schema-references.ts'
import { pathText, type ValuePath } from './value-path.ts'

/** What the explanation of one schema needs. */
export interface ExplainOptions {
  readonly references: SchemaReferences
  readonly draft07: boolean
  /** Whether `format` is a rule or a remark. */
  readonly formats: boolean
  readonly pattern: (source: string) => Pattern
}

/** What a schema has looked at in a value: the `unevaluated…` rules judge the rest. */
export interface Looked {
  readonly names: Set<string>
  readonly items: Set<number>
}

/** Where an explanation stands. */
export interface Explanation {
  readonly options: ExplainOptions
  readonly problems: Explained[]
  /** The addresses of the resources it came through, outermost first, for dynamic references. */
  readonly scope: readonly string[]
  /** How many schemas have been looked at, in this explanation and all that it has started. */
  readonly steps: { count: number }
  /** Adds the problems of one value, and gives what was looked at; undefined where there were problems. */
  explain(schema: unknown, value: unknown, path: ValuePath | undefined, at: Explanation): Looked | undefined
}

/** Adds one problem in the words of its rule, or in other words. */
export function report(
  at: Explanation,
  path: ValuePath | undefined,
  rule: string,
  expected: unknown,
  words?: (path: string) => string,
): void {
  const text = pathText(path)
  const message = words?.(text) ?? `${text} ${ruleInWords(rule, expected)}`
  at.problems.push({ path: text, rule, expected: boundedValue(expected), message })
}

/** Joins what a schema beside or below has looked at. */
export function join(looked: Looked, more: Looked | undefined): void {
  if (more === undefined) return
  for (const name of more.names) looked.names.add(name)
  for (const item of more.items) looked.items.add(item)
}

/** One fault in the parameters, with the words for it. */
export interface Explained extends Problem {
  readonly message: string
}
