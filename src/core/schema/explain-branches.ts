import { type Explained, type Explanation, join, type Looked, report } from './explanation.ts'
import { typesInWords } from './json-type.ts'
import { valuesInWords } from './problem-words.ts'
import { isObject } from './schema-keywords.ts'
import { pathText, type ValuePath } from './value-path.ts'

/** Adds the problems of a value with the schemas that judge it together: `allOf`, `anyOf`, `oneOf`, `not`, `if`. */
export function explainBranches(
  schema: Record<string, unknown>,
  value: unknown,
  path: ValuePath | undefined,
  at: Explanation,
  looked: Looked,
): void {
  if (Array.isArray(schema.allOf)) {
    for (const branch of schema.allOf) join(looked, at.explain(branch, value, path, at))
  }
  for (const rule of ['anyOf', 'oneOf'] as const) {
    const branches = schema[rule]
    if (!Array.isArray(branches)) continue
    const failed: Explained[][] = []
    let matching = 0
    for (const branch of branches) {
      const own: Explanation = { ...at, problems: [] }
      const more = at.explain(branch, value, path, own)
      if (more === undefined) failed.push(own.problems)
      else if (++matching === 1 || rule === 'anyOf') join(looked, more)
    }
    if (matching === 0) explainChoice(rule, failed, value, path, at)
    else if (rule === 'oneOf' && matching > 1) {
      report(
        at,
        path,
        rule,
        branches.length,
        (text) => `${text} must have exactly one of ${branches.length} forms, but has ${matching}`,
      )
    }
  }
  if (Object.hasOwn(schema, 'not')) {
    if (at.explain(schema.not, value, path, { ...at, problems: [] }) !== undefined) reportNot(schema.not, path, at)
  }
  if (Object.hasOwn(schema, 'if')) {
    const matched = at.explain(schema.if, value, path, { ...at, problems: [] })
    join(looked, matched)
    const rule = matched === undefined ? 'else' : 'then'
    if (Object.hasOwn(schema, rule)) join(looked, at.explain(schema[rule], value, path, at))
  }
}

function reportNot(refused: unknown, path: ValuePath | undefined, at: Explanation): void {
  const only = isObject(refused) && Object.keys(refused).length === 1 ? refused : {}
  let words = 'has a form that is not allowed'
  if (only.type !== undefined) words = `must not be ${typesInWords([only.type].flat())}`
  else if (Array.isArray(only.enum)) words = `must not be one of: ${valuesInWords(only.enum)}`
  else if (Object.hasOwn(only, 'const')) words = `must not be ${valuesInWords([only.const])}`
  else if (Array.isArray(only.required)) words = `must not have ${valuesInWords(only.required)}`
  report(at, path, 'not', false, (text) => `${text} ${words}`)
}

/**
 * Adds what is wrong with a value that has none of several forms, as one problem rather than those of every form:
 * the types or values it may have, else the problems of the one form that was meant, else the nearest form.
 */
function explainChoice(
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
