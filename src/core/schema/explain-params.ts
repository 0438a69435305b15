import { hasUniqueItems, sameJson } from '../json/canonical-text.ts'
import { hasType, isMultipleOf, typesInWords } from '../json/json-type.ts'
import {
  type Evaluated,
  type Explained,
  type ExplainOptions,
  type Explanation,
  firstProblems,
  join,
  pathText,
  report,
} from './explanation.ts'
import { hasFormat } from './formats.ts'
import { counted, shortened, valuesInWords } from './problem-words.ts'
import { isObject, type Values } from './schema-keywords.ts'

type Check = (value: never, expected: never, at: Explanation) => boolean

const ANY: Readonly<Record<string, (value: unknown, expected: unknown, at: Explanation) => boolean>> = {
  type: (value, types) => (Array.isArray(types) ? types : [types]).some((type) => hasType(value, type)),
  enum: (value, values) => Array.isArray(values) && values.some((each) => sameJson(value, each)),
  const: (value, expected) => sameJson(value, expected),
  format: (value, format, at) => !at.options.formats || hasFormat(value, format),
}

const NUMBER: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
  minimum: (value, bound) => value >= bound,
  maximum: (value, bound) => value <= bound,
  exclusiveMinimum: (value, bound) => value > bound,
  exclusiveMaximum: (value, bound) => value < bound,
  multipleOf: isMultipleOf,
}

const STRING: Readonly<Record<string, (value: string, expected: never, at: Explanation) => boolean>> = {
  minLength: (value, bound: number) => lengthOf(value) >= bound,
  maxLength: (value, bound: number) => lengthOf(value) <= bound,
  pattern: (value, source: string, at) => at.options.pattern(source).test(value),
}

const ARRAY: Readonly<Record<string, (value: unknown[], expected: number | boolean) => boolean>> = {
  minItems: (value, bound) => value.length >= Number(bound),
  maxItems: (value, bound) => value.length <= Number(bound),
  uniqueItems: (value, expected) => expected !== true || hasUniqueItems(value),
}

const OBJECT: Readonly<Record<string, (value: object, bound: number) => boolean>> = {
  minProperties: (value, bound) => Object.keys(value).length >= bound,
  maxProperties: (value, bound) => Object.keys(value).length <= bound,
}

function explainRules(schema: Values, value: unknown, at: Explanation): void {
  let isMisformatted = false
  apply(ANY)
  if (typeof value === 'number') apply(NUMBER)
  else if (typeof value === 'string') apply(STRING)
  else if (Array.isArray(value)) apply(ARRAY)
  else if (isObject(value)) apply(OBJECT)

  function apply(rules: Readonly<Record<string, Check>>): void {
    for (const rule in rules) {
      if (!Object.hasOwn(schema, rule)) continue
      const expected = schema[rule]
      if (rules[rule]?.(value as never, expected as never, at)) continue
      // Zod writes each format as a pattern too, which says nothing more.
      if (rule === 'pattern' && isMisformatted) continue
      isMisformatted ||= rule === 'format'
      report(at, rule, expected)
    }
  }
}

/** The length in code points, not UTF-16 units. */
function lengthOf(text: string): number {
  let length = text.length
  for (let at = 0; at < text.length - 1; at++) {
    if ((text.codePointAt(at) as number) > 0xffff) {
      length--
      at++
    }
  }
  return length
}

/** An explanation stops after this many schemas or problems. */
const MAX_STEPS = 200_000
const MAX_FOUND = 500

/** Lists every problem in schema order. Only explains a rejection, never decides it. */
export function explainParams(schema: unknown, params: unknown, options: ExplainOptions): Explained[] {
  const problems: Explained[] = []
  const evaluated = { names: new Set<string>(), items: new Set<number>() }
  const steps = { count: 0 }
  explainValue(schema, params, {
    options,
    problems,
    scope: [],
    steps,
    evaluated,
    path: undefined,
    explain: explainValue,
  })
  const seen = new Set<string>()
  const all = problems.filter(({ message }) => !seen.has(message) && seen.add(message))
  return firstProblems(all, problems.length > MAX_FOUND || steps.count > MAX_STEPS)
}

function explainValue(schema: unknown, value: unknown, outer: Explanation): Evaluated | undefined {
  const { problems, options, scope, steps } = outer
  const evaluated: Evaluated = { names: new Set(), items: new Set() }
  if (steps.count++ > MAX_STEPS) return evaluated
  if (problems.length > MAX_FOUND) return undefined
  const before = problems.length
  if (schema === false) report(outer, 'false', false)
  if (isObject(schema)) {
    const base = options.references.baseOf(schema)
    const at = { ...outer, evaluated, scope: scope.at(-1) === base ? scope : [...scope, base] }
    const isOnlyReference = options.draft07 && typeof schema.$ref === 'string'
    if (!isOnlyReference) {
      explainRules(schema, value, at)
      if (Array.isArray(value)) explainArray(schema, value, at)
      else if (isObject(value)) explainObject(schema, value, at)
    }
    explainReferences(schema, value, at)
    if (!isOnlyReference) {
      explainBranches(schema, value, at)
      explainUnevaluated(schema, value, at)
    }
  }
  return problems.length === before ? evaluated : undefined
}

function explainReferences(schema: Values, value: unknown, at: Explanation): void {
  const { references } = at.options
  if (typeof schema.$ref === 'string') join(at, at.explain(references.target(schema, schema.$ref), value, at))
  if (typeof schema.$dynamicRef === 'string') {
    join(at, at.explain(references.dynamicTarget(schema, schema.$dynamicRef, at.scope), value, at))
  }
}

function explainUnevaluated(schema: Values, value: unknown, at: Explanation): void {
  const { names, items } = at.evaluated
  if (Object.hasOwn(schema, 'unevaluatedItems') && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      if (items.has(index)) continue
      items.add(index)
      at.explain(schema.unevaluatedItems, item, inside(at, index))
    }
  }
  if (Object.hasOwn(schema, 'unevaluatedProperties') && isObject(value)) {
    for (const name of Object.keys(value)) {
      if (!names.has(name)) explainExtra(schema, 'unevaluatedProperties', name, value[name], at)
    }
  }
}

/** The message if a rejection can't be explained. */
export const UNEXPLAINED: Explained = {
  path: 'parameters',
  rule: 'schema',
  expected: true,
  message: 'parameters do not match the schema',
}

function explainArray(schema: Values, value: readonly unknown[], at: Explanation): void {
  const listed: readonly unknown[] = [schema.prefixItems, schema.items].find(Array.isArray) ?? []
  const rest = Array.isArray(schema.items) ? 'additionalItems' : 'items'
  const hasRest = Object.hasOwn(schema, rest)
  for (const [index, item] of value.entries()) {
    if (index >= listed.length && !hasRest) break
    at.evaluated.items.add(index)
    at.explain(index < listed.length ? listed[index] : schema[rest], item, inside(at, index))
  }
  if (Object.hasOwn(schema, 'contains')) explainContains(schema, value, at)
}

function explainContains(schema: Values, value: readonly unknown[], at: Explanation): void {
  const { draft07 } = at.options
  let matching = 0
  for (const [index, item] of value.entries()) {
    if (at.explain(schema.contains, item, { ...at, problems: [] }) === undefined) continue
    matching++
    if (!draft07) at.evaluated.items.add(index)
  }
  const min = !draft07 && typeof schema.minContains === 'number' ? schema.minContains : 1
  const max = !draft07 && typeof schema.maxContains === 'number' ? schema.maxContains : value.length
  if (matching < min) {
    const rule = min === 1 ? 'contains' : 'minContains'
    report(at, rule, min, (path) => `${path} must contain at least ${counted(min, 'matching item')}`)
  } else if (matching > max) {
    report(at, 'maxContains', max, (path) => `${path} must contain at most ${counted(max, 'matching item')}`)
  }
}

function explainObject(schema: Values, value: Values, at: Explanation): void {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = new Set(textsIn(schema.required))
  for (const name of Object.keys(properties)) {
    if (Object.hasOwn(value, name)) {
      at.evaluated.names.add(name)
      at.explain(properties[name], value[name], inside(at, name))
    } else if (required.has(name)) reportMissing(inside(at, name), 'required')
  }
  for (const name of required) {
    const isListed = Object.hasOwn(properties, name)
    if (!isListed && !Object.hasOwn(value, name)) reportMissing(inside(at, name), 'required')
  }
  explainDependencies(schema, value, at)
  explainAdditional(schema, value, properties, at)
  explainNames(schema, value, at)
}

function explainDependencies(schema: Values, value: Values, at: Explanation): void {
  for (const rule of ['dependentRequired', 'dependencies', 'dependentSchemas']) {
    const dependencies = schema[rule]
    if (!isObject(dependencies)) continue
    for (const [name, dependency] of Object.entries(dependencies)) {
      if (!Object.hasOwn(value, name)) continue
      if (!Array.isArray(dependency)) join(at, at.explain(dependency, value, at))
      else {
        const missing = textsIn(dependency).filter((other) => !Object.hasOwn(value, other))
        for (const other of missing) reportMissing(inside(at, other), rule, name)
      }
    }
  }
}

function explainAdditional(schema: Values, value: Values, properties: Values, at: Explanation): void {
  const patterns = isObject(schema.patternProperties)
    ? Object.entries(schema.patternProperties).map(([source, inner]) => [at.options.pattern(source), inner] as const)
    : []
  const hasRest = Object.hasOwn(schema, 'additionalProperties')
  if (patterns.length === 0 && !hasRest) return
  for (const name of Object.keys(value)) {
    const matching = patterns.filter(([pattern]) => pattern.test(name))
    for (const [, inner] of matching) at.explain(inner, value[name], inside(at, name))
    if (matching.length > 0) at.evaluated.names.add(name)
    else if (hasRest && !Object.hasOwn(properties, name)) {
      explainExtra(schema, 'additionalProperties', name, value[name], at)
    }
  }
}

function explainExtra(schema: Values, rule: string, name: string, value: unknown, at: Explanation): void {
  at.evaluated.names.add(name)
  if (schema[rule] !== false) at.explain(schema[rule], value, inside(at, name))
  else report(inside(at, name), rule, false, (path) => `unknown parameter '${path}'`)
}

function explainNames(schema: Values, value: Values, at: Explanation): void {
  if (!Object.hasOwn(schema, 'propertyNames')) return
  for (const name of Object.keys(value)) {
    const own: Explanation = { ...inside(at, name), problems: [] }
    if (at.explain(schema.propertyNames, name, own) !== undefined) continue
    // One reason per name is enough.
    const reason = own.problems[0]?.message ?? ''
    report(inside(at, name), 'propertyNames', reason, () => `the name of ${shortened(reason)}`)
  }
}

function reportMissing(at: Explanation, rule: string, because?: string): void {
  const reason = because === undefined ? '' : `, which is required with '${shortened(because)}'`
  report(at, rule, true, (path) => `missing '${path}'${reason}`)
}

const inside = (at: Explanation, step: string | number): Explanation => ({ ...at, path: { parent: at.path, step } })

const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []

/** Explains `allOf`, `anyOf`, `oneOf`, `not` and `if`. */
function explainBranches(schema: Values, value: unknown, at: Explanation): void {
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
