import { hasUniqueItems } from './canonical-text.ts'
import { explainBranches } from './explain-branches.ts'
import { type Explained, type ExplainOptions, type Explanation, join, type Looked, report } from './explanation.ts'
import { hasFormat } from './formats.ts'
import { hasType } from './json-type.ts'
import { isMultipleOf } from './multiple-of.ts'
import { counted, shortened } from './problem-words.ts'
import { sameJson } from './same-json.ts'
import { isObject } from './schema-keywords.ts'
import type { ValuePath } from './value-path.ts'

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

/** Adds the problems of a value with the rules that need no other schema. */
function explainRules(
  schema: Record<string, unknown>,
  value: unknown,
  path: ValuePath | undefined,
  at: Explanation,
): void {
  apply(ANY)
  if (typeof value === 'number') apply(NUMBER)
  else if (typeof value === 'string') apply(STRING)
  else if (Array.isArray(value)) apply(ARRAY)
  else if (isObject(value)) apply(OBJECT)

  function apply(rules: Readonly<Record<string, Check>>): void {
    for (const rule in rules) {
      if (!Object.hasOwn(schema, rule)) continue
      const expected = schema[rule]
      if (!rules[rule]?.(value as never, expected as never, at)) report(at, path, rule, expected)
    }
  }
}

/** Length in characters, not in the halves that JavaScript counts. */
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

/** At most so many problems are listed. */
const MOST_PROBLEMS = 50

/** An explanation ends, with what it has found, after so many schemas or so many problems. */
const MAX_STEPS = 200_000
const MAX_FOUND = 500

/**
 * Every problem of the parameters, in schema order: a schema's own rules, its properties as they are listed, then what
 * it refers to. It says why a validator refused, and never decides whether one should.
 */
export function explainParams(schema: unknown, params: unknown, options: ExplainOptions): Explained[] {
  const problems: Explained[] = []
  explainValue(schema, params, undefined, { options, problems, scope: [], steps: { count: 0 }, explain: explainValue })
  const seen = new Set<string>()
  return problems.filter(({ message }) => !seen.has(message) && seen.add(message)).slice(0, MOST_PROBLEMS)
}

function explainValue(
  schema: unknown,
  value: unknown,
  path: ValuePath | undefined,
  standing: Explanation,
): Looked | undefined {
  const { problems, options, steps } = standing
  const looked: Looked = { names: new Set(), items: new Set() }
  if (steps.count++ > MAX_STEPS) return looked
  if (problems.length > MAX_FOUND) return undefined
  const before = problems.length
  if (schema === false) report(standing, path, 'false', false)
  if (isObject(schema)) {
    const base = options.references.baseOf(schema)
    const at = standing.scope.at(-1) === base ? standing : { ...standing, scope: [...standing.scope, base] }
    if (!options.draft07 || typeof schema.$ref !== 'string') {
      explainRules(schema, value, path, at)
      if (Array.isArray(value)) explainArray(schema, value, path, at, looked)
      else if (isObject(value)) explainObject(schema, value, path, at, looked)
    }
    explainReferences(schema, value, path, at, looked)
    if (!options.draft07 || typeof schema.$ref !== 'string') {
      explainBranches(schema, value, path, at, looked)
      explainRest(schema, value, path, at, looked)
    }
  }
  return problems.length === before ? looked : undefined
}

function explainReferences(
  schema: Record<string, unknown>,
  value: unknown,
  path: ValuePath | undefined,
  at: Explanation,
  looked: Looked,
): void {
  const { references } = at.options
  if (typeof schema.$ref === 'string') {
    join(looked, at.explain(references.target(schema, schema.$ref), value, path, at))
  }
  if (typeof schema.$dynamicRef === 'string') {
    join(looked, at.explain(references.dynamicTarget(schema, schema.$dynamicRef, at.scope), value, path, at))
  }
}

/** The rules for what no other has looked at come last. */
function explainRest(
  schema: Record<string, unknown>,
  value: unknown,
  path: ValuePath | undefined,
  at: Explanation,
  looked: Looked,
): void {
  if (Object.hasOwn(schema, 'unevaluatedItems') && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      if (looked.items.has(index)) continue
      looked.items.add(index)
      at.explain(schema.unevaluatedItems, item, { parent: path, step: index }, at)
    }
  }
  if (Object.hasOwn(schema, 'unevaluatedProperties') && isObject(value)) {
    for (const name of Object.keys(value)) {
      if (looked.names.has(name)) continue
      looked.names.add(name)
      const step = { parent: path, step: name }
      if (schema.unevaluatedProperties !== false) at.explain(schema.unevaluatedProperties, value[name], step, at)
      else report(at, step, 'unevaluatedProperties', false, (text) => `unknown parameter '${text}'`)
    }
  }
}

/** What is said where a validator refuses and nothing can be named. */
export const UNEXPLAINED: Explained = {
  path: 'parameters',
  rule: 'schema',
  expected: true,
  message: 'parameters do not match the schema',
}

/** Adds the problems of an array's items, in their order. */
function explainArray(
  schema: Record<string, unknown>,
  value: readonly unknown[],
  path: ValuePath | undefined,
  at: Explanation,
  looked: Looked,
): void {
  const listed = Array.isArray(schema.prefixItems)
    ? schema.prefixItems
    : Array.isArray(schema.items)
      ? schema.items
      : []
  const rest = Array.isArray(schema.items) ? 'additionalItems' : 'items'
  const hasRest = Object.hasOwn(schema, rest)
  for (const [index, item] of value.entries()) {
    if (index >= listed.length && !hasRest) break
    looked.items.add(index)
    at.explain(index < listed.length ? listed[index] : schema[rest], item, { parent: path, step: index }, at)
  }
  if (Object.hasOwn(schema, 'contains')) explainContains(schema, value, path, at, looked)
}

function explainContains(
  schema: Record<string, unknown>,
  value: readonly unknown[],
  path: ValuePath | undefined,
  at: Explanation,
  looked: Looked,
): void {
  let matching = 0
  for (const [index, item] of value.entries()) {
    if (at.explain(schema.contains, item, { parent: path, step: index }, { ...at, problems: [] }) === undefined)
      continue
    matching++
    if (!at.options.draft07) looked.items.add(index)
  }
  const least = !at.options.draft07 && typeof schema.minContains === 'number' ? schema.minContains : 1
  const most = !at.options.draft07 && typeof schema.maxContains === 'number' ? schema.maxContains : value.length
  if (matching < least) {
    const rule = least === 1 ? 'contains' : 'minContains'
    report(
      at,
      path,
      rule,
      least,
      (text) => `${text} must contain at least ${counted(least, 'item')} of the required form`,
    )
  } else if (matching > most) {
    report(
      at,
      path,
      'maxContains',
      most,
      (text) => `${text} must contain at most ${counted(most, 'item')} of the counted form`,
    )
  }
}

type Values = Record<string, unknown>

/** Adds the problems of an object's properties, those that are missing included, in the order of the schema. */
function explainObject(
  schema: Values,
  value: Values,
  path: ValuePath | undefined,
  at: Explanation,
  looked: Looked,
): void {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = new Set(names(schema.required))
  for (const name of Object.keys(properties)) {
    const step = { parent: path, step: name }
    if (Object.hasOwn(value, name)) {
      looked.names.add(name)
      at.explain(properties[name], value[name], step, at)
    } else if (required.has(name)) missing(at, step, 'required')
  }
  for (const name of required) {
    if (!Object.hasOwn(properties, name) && !Object.hasOwn(value, name))
      missing(at, { parent: path, step: name }, 'required')
  }
  explainDependencies(schema, value, path, at, looked)
  explainOthers(schema, value, path, at, looked, properties)
  explainNames(schema, value, path, at)
}

function explainDependencies(
  schema: Values,
  value: Values,
  path: ValuePath | undefined,
  at: Explanation,
  looked: Looked,
): void {
  for (const rule of ['dependentRequired', 'dependencies', 'dependentSchemas']) {
    const dependencies = schema[rule]
    if (!isObject(dependencies)) continue
    for (const name of Object.keys(dependencies)) {
      if (!Object.hasOwn(value, name)) continue
      const dependency = dependencies[name]
      if (Array.isArray(dependency)) {
        for (const other of names(dependency)) {
          if (!Object.hasOwn(value, other)) missing(at, { parent: path, step: other }, rule, name)
        }
      } else {
        const more = at.explain(dependency, value, path, at)
        for (const seen of more?.names ?? []) looked.names.add(seen)
      }
    }
  }
}

/** The properties that the schema does not name. */
function explainOthers(
  schema: Values,
  value: Values,
  path: ValuePath | undefined,
  at: Explanation,
  looked: Looked,
  properties: Values,
): void {
  const patterns = isObject(schema.patternProperties)
    ? Object.entries(schema.patternProperties).map(([source, inner]) => [at.options.pattern(source), inner] as const)
    : []
  const others = Object.hasOwn(schema, 'additionalProperties')
  if (patterns.length === 0 && !others) return
  for (const name of Object.keys(value)) {
    const step = { parent: path, step: name }
    const matching = patterns.filter(([pattern]) => pattern.test(name))
    for (const [, inner] of matching) at.explain(inner, value[name], step, at)
    if (matching.length > 0) looked.names.add(name)
    if (!others || matching.length > 0 || Object.hasOwn(properties, name)) continue
    looked.names.add(name)
    if (schema.additionalProperties !== false) at.explain(schema.additionalProperties, value[name], step, at)
    else report(at, step, 'additionalProperties', false, (text) => `unknown parameter '${text}'`)
  }
}

function explainNames(schema: Values, value: Values, path: ValuePath | undefined, at: Explanation): void {
  if (!Object.hasOwn(schema, 'propertyNames')) return
  for (const name of Object.keys(value)) {
    const own: Explanation = { ...at, problems: [] }
    if (at.explain(schema.propertyNames, name, { parent: path, step: name }, own) !== undefined) continue
    // The first reason stands for all: a name is wrong or it is not.
    const reason = own.problems[0]?.message ?? ''
    report(at, { parent: path, step: name }, 'propertyNames', reason, () => `the name of ${shortened(reason)}`)
  }
}

function missing(at: Explanation, path: ValuePath, rule: string, because?: string): void {
  const reason = because === undefined ? '' : `, which goes with '${shortened(because)}'`
  report(at, path, rule, true, (text) => `missing '${text}'${reason}`)
}

function names(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}
