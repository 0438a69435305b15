import type { FailureExtras, Problem } from '../tool-result.ts'
import type { Pattern } from './linear-pattern.ts'
import { boundedValue, ruleInWords } from './problem-words.ts'
import type { SchemaReferences } from './schema-references.ts'

type ProblemDetails = NonNullable<FailureExtras['details']>

export interface ExplainOptions {
  readonly references: SchemaReferences
  readonly draft07: boolean
  readonly formats: boolean
  readonly pattern: (source: string) => Pattern
}

/** The evaluated properties and items, for the `unevaluated…` keywords. */
export interface Evaluated {
  readonly names: Set<string>
  readonly items: Set<number>
}

export interface Explanation {
  readonly options: ExplainOptions
  readonly problems: Explained[]
  readonly evaluated: Evaluated
  readonly path: ValuePath | undefined
  /** The base URIs so far, outermost first, for dynamic references. */
  readonly scope: readonly string[]
  /** Shared with all nested explanations. */
  readonly steps: { count: number }
  /** Adds the problems of one value. Returns what was evaluated, or undefined if there were problems. */
  explain(schema: unknown, value: unknown, at: Explanation): Evaluated | undefined
}

/** Adds one problem, with the default message of its rule or a custom one. */
export function report(at: Explanation, rule: string, expected: unknown, words?: (path: string) => string): void {
  const path = pathText(at.path)
  const message = words?.(path) ?? `${path} ${ruleInWords(rule, expected)}`
  at.problems.push({ path, rule, expected: boundedValue(expected), message })
}

export function join({ evaluated }: Explanation, more: Evaluated | undefined): void {
  for (const name of more?.names ?? []) evaluated.names.add(name)
  for (const item of more?.items ?? []) evaluated.items.add(item)
}

export interface Explained extends Problem {
  readonly message: string
}

const MAX_PROBLEMS = 50
const MORE = 'more'

/** The first problems and, as the last one, how many more there are. `isCut`: not all were found. */
export function firstProblems(all: readonly Explained[], isCut = false): Explained[] {
  const more = all.length - MAX_PROBLEMS
  if (more <= 0) return [...all]
  const message = `and ${isCut ? 'at least ' : ''}${more} more`
  return [...all.slice(0, MAX_PROBLEMS), { path: '', rule: MORE, expected: more, message }]
}

/** The problems without their messages, and how many more there are. */
export function listedProblems(problems: readonly Explained[]): Pick<ProblemDetails, 'problems' | 'more_problems'> {
  const more = problems.find(({ rule }) => rule === MORE)?.expected
  const listed = problems.filter(({ rule }) => rule !== MORE)
  return {
    problems: listed.map(({ path, rule, expected }) => ({ path, rule, expected })),
    ...(typeof more === 'number' && { more_problems: more }),
  }
}

export interface ValuePath {
  readonly parent: ValuePath | undefined
  readonly step: string | number
}

const PLAIN = /^[^\s.[\]"'\\]{1,80}$/u

const MAX_PATH_LENGTH = 200

/** The path as text, such as `user.emails[0]`; the root is `parameters`. */
export function pathText(path: ValuePath | undefined): string {
  if (path === undefined) return 'parameters'
  let text = ''
  for (let at: ValuePath | undefined = path; at !== undefined; at = at.parent) {
    const name = stepText(at.step)
    text = text === '' || text.startsWith('[') ? name + text : `${name}.${text}`
  }
  return text.length > MAX_PATH_LENGTH
    ? `${text.slice(0, MAX_PATH_LENGTH / 2)}…${text.slice(-MAX_PATH_LENGTH / 2)}`
    : text
}

function stepText(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`
  return PLAIN.test(step) ? step : `[${JSON.stringify(step.length > 80 ? `${step.slice(0, 79)}…` : step)}]`
}
