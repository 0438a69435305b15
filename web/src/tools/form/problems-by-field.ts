import type { Problem } from '../../../../src/core/tool-result.ts'
import { ownValue } from '../../parts/own-value.ts'

/** The error tree that the form library expects. */
export interface FieldErrors {
  __errors?: string[]
  [field: string]: FieldErrors | string[] | undefined
}

/** Maps problems by path, such as `user.emails[0]`, to fields. */
export function problemsByField(problems: readonly Problem[]): FieldErrors {
  const root = noErrors()
  for (const problem of problems) {
    let at = root
    const steps = stepsOf(problem.path)
    for (const step of steps) {
      at[step] ??= noErrors()
      at = at[step] as FieldErrors
    }
    at.__errors = [...(at.__errors ?? []), sentence(problem, steps.at(-1))]
  }
  return root
}

/** The problems of a call that its parameters still have: a changed field is no longer wrong until the server says so. */
export const openProblems = (problems: readonly Problem[], sent: unknown, now: unknown): Problem[] =>
  problems.filter(({ path }) => JSON.stringify(valueAt(sent, path)) === JSON.stringify(valueAt(now, path)))

/** Fields may be called `__proto__` or `constructor`. */
const noErrors = (): FieldErrors => Object.create(null)

const stepsOf = (path: string): string[] => path.split(/[.[\]]+/).filter(Boolean)

const valueAt = (value: unknown, path: string): unknown =>
  stepsOf(path).reduce((at, step) => ownValue(Object(at), step), value)

type Schema = Readonly<Record<string, unknown>>

/** Set beside `enum`: the values that were added because they are given, not because they are allowed. */
export const GIVEN = 'x-given'

/** Adds given values to the enums that don't allow them. The form library would replace them by the default, unlike the JSON. */
export function withGivenValues(schema: unknown, given: unknown): unknown {
  if (!isObject(schema) || given === undefined) return schema
  const { enum: allowed, properties, items } = schema
  if (Array.isArray(allowed)) {
    const isAllowed = allowed.some((one) => JSON.stringify(one) === JSON.stringify(given))
    return isAllowed
      ? schema
      : { ...schema, enum: [...allowed, given], [GIVEN]: [...((schema[GIVEN] as []) ?? []), given] }
  }
  if (isObject(properties) && isObject(given)) {
    const inner = Object.entries(properties).map(([name, one]) => [name, withGivenValues(one, ownValue(given, name))])
    return { ...schema, properties: Object.fromEntries(inner) }
  }
  return Array.isArray(given) && isObject(items) ? { ...schema, items: given.reduce(withGivenValues, items) } : schema
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

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
