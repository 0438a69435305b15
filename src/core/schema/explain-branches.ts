import { type Explained, type Explanation, join, pathText, report } from './explanation.ts'
import { typesInWords } from './json-type.ts'
import { valuesInWords } from './problem-words.ts'
import { isObject, type Values } from './schema-keywords.ts'

/** Explains `allOf`, `anyOf`, `oneOf`, `not` and `if`. */
export function explainBranches(schema: Values, value: unknown, at: Explanation): void {
  if (Array.isArray(schema.allOf)) for (const branch of schema.allOf) join(at, at.explain(branch, value, at))
  for (const rule of ['anyOf', 'oneOf'] as const) {
    const branches = schema[rule]
    if (Array.isArray(branches)) explainChoice(rule, branches, value, at)
  }
  if (Object.hasOwn(schema, 'not') && at.explain(schema.not, value, { ...at, problems: [] }) !== undefined) {
    reportNot(schema.not, at)
  }
  if (Object.hasOwn(schema, 'if')) {
    const matched = at.explain(schema.if, value, { ...at, problems: [] })
    join(at, matched)
    const rule = matched === undefined ? 'else' : 'then'
    if (Object.hasOwn(schema, rule)) join(at, at.explain(schema[rule], value, at))
  }
}

function explainChoice(rule: 'anyOf' | 'oneOf', branches: readonly unknown[], value: unknown, at: Explanation): void {
  const failed: Explained[][] = []
  let matching = 0
  for (const branch of branches) {
    const own: Explanation = { ...at, problems: [] }
    const more = at.explain(branch, value, own)
    if (more === undefined) failed.push(own.problems)
    else if (++matching === 1 || rule === 'anyOf') join(at, more)
  }
  if (matching === 0) explainNoMatch(rule, failed, value, at)
  else if (rule === 'oneOf' && matching > 1) {
    const { length } = branches
    report(at, rule, length, (path) => `${path} must match exactly one of ${length} schemas, but matches ${matching}`)
  }
}

function reportNot(refused: unknown, at: Explanation): void {
  const only = isObject(refused) && Object.keys(refused).length === 1 ? refused : {}
  let words = 'has a value that is not allowed'
  if (only.type !== undefined) words = `must not be ${typesInWords([only.type].flat())}`
  else if (Array.isArray(only.enum)) words = `must not be one of: ${valuesInWords(only.enum)}`
  else if (Object.hasOwn(only, 'const')) words = `must not be ${valuesInWords([only.const])}`
  else if (Array.isArray(only.required)) words = `must not have ${valuesInWords(only.required)}`
  report(at, 'not', false, (path) => `${path} ${words}`)
}

/** The problems of each branch. */
type Failed = readonly (readonly Explained[])[]

/** One problem for all branches: the allowed types or values, or those of the intended or closest branch. */
function explainNoMatch(rule: 'anyOf' | 'oneOf', failed: Failed, value: unknown, at: Explanation): void {
  const here = pathText(at.path)
  const own = (branch: readonly Explained[], ...rules: string[]) =>
    branch.find((problem) => problem.path === here && rules.includes(problem.rule))
  const types = failed.map((branch) => own(branch, 'type'))
  if (types.length > 0 && types.every((problem) => problem !== undefined)) {
    const expected = [...new Set(types.flatMap((problem) => problem.expected))]
    report(at, rule, expected, (path) => `${path} must be ${typesInWords(expected)}`)
    return
  }
  const intended = failed.filter((branch) => !own(branch, 'type'))
  const values = intended.map((branch) => own(branch, 'enum', 'const'))
  if (values.length > 0 && values.every((problem) => problem !== undefined)) {
    const expected = allowed(values)
    report(at, rule, expected, (path) => `${path} must be one of: ${valuesInWords(expected)}`)
    return
  }
  const [first, ...others] = withoutOtherKinds(intended, here, value, rule, at)
  if (first === undefined) {
    if (failed.length === 0) report(at, rule, 0)
  } else if (others.length === 0) at.problems.push(...first)
  else {
    const closest = others.reduce((best, branch) => (branch.length < best.length ? branch : best), first)
    report(at, rule, failed.length, (path) => {
      return `${path} matches none of ${failed.length} allowed schemas; for the closest: ${closest[0]?.message}`
    })
  }
}

/** Drops the branches that a discriminator excludes. If it excludes all, it is the problem. */
function withoutOtherKinds(branches: Failed, here: string, value: unknown, rule: string, at: Explanation): Failed {
  if (typeof value !== 'object' || value === null || branches.length < 2) return branches
  const prefix = here === 'parameters' ? '' : `${here}.`
  const kinds = branches.map((branch) =>
    branch.find(({ rule, path }) => {
      return (rule === 'const' || rule === 'enum') && path.startsWith(prefix) && !/[.[]/.test(path.slice(prefix.length))
    }),
  )
  const rest = branches.filter((_, index) => kinds[index] === undefined)
  if (rest.length > 0) return rest
  const [first] = kinds
  if (first === undefined || kinds.some((kind) => kind?.path !== first.path)) return branches
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
