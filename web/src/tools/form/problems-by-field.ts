import type { Problem } from '../../../../src/core/tool-result.ts'

/** The error tree that the form library expects. */
export interface FieldErrors {
  __errors?: string[]
  [field: string]: FieldErrors | string[] | undefined
}

/** Maps problems by path, such as `user.emails[0]`, to fields. */
export function problemsByField(problems: readonly Problem[]): FieldErrors {
  const root: FieldErrors = {}
  for (const problem of problems) {
    let at = root
    const steps = stepsOf(problem.path)
    for (const step of steps) {
      at[step] ??= {}
      at = at[step] as FieldErrors
    }
    at.__errors = [...(at.__errors ?? []), sentence(problem, steps.at(-1))]
  }
  return root
}

/** The problems of a call that its parameters still have: a changed field is no longer wrong until the server says so. */
export const openProblems = (problems: readonly Problem[], sent: unknown, now: unknown): Problem[] =>
  problems.filter(({ path }) => JSON.stringify(valueAt(sent, path)) === JSON.stringify(valueAt(now, path)))

const stepsOf = (path: string): string[] => path.split(/[.[\]]+/).filter(Boolean)

const valueAt = (value: unknown, path: string): unknown =>
  stepsOf(path).reduce((at, step) => (Object(at) as Readonly<Record<string, unknown>>)[step], value)

interface Choice {
  readonly value: unknown
  readonly label: string
}

/** The choices of an enum, with a value that is none of them. */
export function withGivenValue(choices: readonly Choice[], value: unknown): Choice[] {
  const isKnown = value === undefined || choices.some((one) => JSON.stringify(one.value) === JSON.stringify(value))
  return isKnown ? [...choices] : [...choices, { value, label: `${JSON.stringify(value)} (not allowed)` }]
}

/** Names a missing field: errors of an object appear below all of its fields. */
function sentence({ rule, expected }: Problem, field = 'This'): string {
  if (rule === 'required') return `${field} is required.`
  const value = (typeof expected === 'object' ? JSON.stringify(expected) : String(expected)) ?? ''
  if (rule === 'enum' && Array.isArray(expected)) return `Must be ${expected.map(String).join(' or ')}`
  return `${MESSAGES[rule] ?? `Must match ${rule}`} ${value}`
}

const MESSAGES: Readonly<Record<string, string>> = {
  type: 'Must be of type',
  const: 'Must be',
  minimum: 'Must be at least',
  maximum: 'Must be at most',
  exclusiveMinimum: 'Must be more than',
  exclusiveMaximum: 'Must be less than',
  minLength: 'Minimum length:',
  maxLength: 'Maximum length:',
  minItems: 'Minimum number of items:',
  maxItems: 'Maximum number of items:',
}
