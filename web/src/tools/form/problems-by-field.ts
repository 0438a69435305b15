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
    for (const step of problem.path.split(/[.[\]]+/).filter(Boolean)) {
      at[step] ??= {}
      at = at[step] as FieldErrors
    }
    at.__errors = [...(at.__errors ?? []), sentence(problem)]
  }
  return root
}

function sentence({ rule, expected }: Problem): string {
  if (rule === 'required') return 'This is required.'
  return `It does not fit: ${rule} ${typeof expected === 'object' ? JSON.stringify(expected) : String(expected)}`
}
