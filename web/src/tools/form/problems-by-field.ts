import type { Problem } from '../../../../src/core/tool-result.ts'

/** Errors as the form wants them: a tree of fields, each with its sentences. */
export interface FieldErrors {
  __errors?: string[]
  [field: string]: FieldErrors | string[] | undefined
}

/** Puts what the server says of `user.emails[0]` at that field. */
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

/** It names the field: what is said of an object stands below all that is in it. */
function sentence({ rule, expected }: Problem, field = 'This'): string {
  if (rule === 'required') return `${field} is required.`
  return `It does not fit: ${rule} ${typeof expected === 'object' ? JSON.stringify(expected) : String(expected)}`
}
