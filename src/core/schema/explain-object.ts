import { type Explanation, type Looked, report } from './explanation.ts'
import { shortened } from './problem-words.ts'
import { isObject } from './schema-keywords.ts'
import type { ValuePath } from './value-path.ts'

type Values = Record<string, unknown>

/** Adds the problems of an object's properties, those that are missing included, in the order of the schema. */
export function explainObject(
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
