import { explainArray } from './explain-array.ts'
import { explainBranches } from './explain-branches.ts'
import { explainObject } from './explain-object.ts'
import { explainRules } from './explain-rules.ts'
import type { Explained } from './explained.ts'
import { type ExplainOptions, type Explanation, join, type Looked, report } from './explanation.ts'
import { isObject } from './schema-keywords.ts'
import type { ValuePath } from './value-path.ts'

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
