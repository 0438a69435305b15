import type { Explained } from './explained.ts'
import { type Explanation, report } from './explanation.ts'
import { typesInWords } from './json-type.ts'
import { valuesInWords } from './problem-words.ts'
import { pathText, type ValuePath } from './value-path.ts'

/**
 * Adds what is wrong with a value that has none of several forms, as one problem rather than those of every form:
 * the types or values it may have, else the problems of the one form that was meant, else the nearest form.
 */
export function explainChoice(
  rule: 'anyOf' | 'oneOf',
  forms: readonly (readonly Explained[])[],
  value: unknown,
  path: ValuePath | undefined,
  at: Explanation,
): void {
  const here = pathText(path)
  const own = (form: readonly Explained[], ...rules: string[]) =>
    form.find((problem) => problem.path === here && rules.includes(problem.rule))
  const types = forms.map((form) => own(form, 'type'))
  if (types.length > 0 && types.every((problem) => problem !== undefined)) {
    const expected = [...new Set(types.flatMap((problem) => problem.expected))]
    report(at, path, rule, expected, (text) => `${text} must be ${typesInWords(expected)}`)
    return
  }
  const meant = forms.filter((form) => !own(form, 'type'))
  const values = meant.map((form) => own(form, 'enum', 'const'))
  if (values.length > 0 && values.every((problem) => problem !== undefined)) {
    report(at, path, rule, allowed(values), (text) => `${text} must be one of: ${valuesInWords(allowed(values))}`)
    return
  }
  const named = withoutOtherKinds(meant, here, value, rule, at)
  if (named.length === 1) {
    at.problems.push(...(named[0] as readonly Explained[]))
  } else if (named.length > 1) {
    const nearest = named.reduce((best, form) => (form.length < best.length ? form : best))
    report(at, path, rule, forms.length, (text) => {
      return `${text} has none of ${forms.length} allowed forms; for the nearest: ${nearest[0]?.message}`
    })
  } else if (forms.length === 0) report(at, path, rule, 0)
}

/**
 * Forms of objects are often told apart by a property of one fixed value. Those whose own is another are not meant;
 * where all are of another, the problem is that property.
 */
function withoutOtherKinds(
  forms: readonly (readonly Explained[])[],
  here: string,
  value: unknown,
  rule: string,
  at: Explanation,
): readonly (readonly Explained[])[] {
  if (typeof value !== 'object' || value === null || forms.length < 2) return forms
  const prefix = here === 'parameters' ? '' : `${here}.`
  const kinds = forms.map((form) =>
    form.find(({ rule, path }) => {
      return (rule === 'const' || rule === 'enum') && path.startsWith(prefix) && !/[.[]/.test(path.slice(prefix.length))
    }),
  )
  const rest = forms.filter((_, index) => kinds[index] === undefined)
  if (rest.length > 0) return rest
  const [first] = kinds
  if (first === undefined || kinds.some((kind) => kind?.path !== first.path)) return forms
  const expected = allowed(kinds)
  const message = `${first.path} must be one of: ${valuesInWords(expected)}`
  at.problems.push({ path: first.path, rule, expected, message })
  return []
}

function allowed(problems: readonly (Explained | undefined)[]): unknown[] {
  return [
    ...new Set(problems.flatMap((problem) => (problem?.rule === 'enum' ? problem.expected : [problem?.expected]))),
  ]
}
