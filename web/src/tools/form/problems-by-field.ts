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
    const steps = problem.path.split(/[.[\]]+/).filter(Boolean)
    for (const step of steps) {
      at[step] ??= {}
      at = at[step] as FieldErrors
    }
    at.__errors = [...(at.__errors ?? []), sentence(problem, steps.at(-1))]
  }
  return root
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
