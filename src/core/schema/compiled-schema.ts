import { setOwn } from '../json/json-type.ts'
import { LIMITS, UNUSUAL_NAMES } from '../snapshot.ts'
import type { JsonSchema, Params } from '../tool.ts'
import { ToolExecutionError } from '../tool-result.ts'
import { ajvCheck, checkAgainstDraft } from './ajv-check.ts'
import { explainParams, UNEXPLAINED } from './explain-params.ts'
import { guardSchema } from './guard-schema.ts'
import { linearPattern, nativePattern } from './linear-pattern.ts'
import { normaliseSchema } from './normalise-schema.ts'
import { type CompiledSchema, provideCompiler } from './schema-compiler.ts'
import { type Draft, isObject, schemaDraft } from './schema-keywords.ts'
import { type Documents, SchemaReferences } from './schema-references.ts'

export type { Explained } from './explanation.ts'
export type { CompiledSchema } from './schema-compiler.ts'

/** For the JSON Schema test suite: the draft, `format` as annotation, and documents for remote references. */
export interface CompileOptions {
  readonly draft?: Draft
  readonly formats?: boolean
  readonly documents?: Documents
}

const compiled = new Map<string, WeakRef<CompiledSchema>>()
const dropped = new FinalizationRegistry<string>((text) => {
  if (compiled.get(text)?.deref() === undefined) compiled.delete(text)
})

/** Compiles a schema once for all tools with the same text, while one of them exists. Throws if it is invalid. */
export function compileSchema(schema: JsonSchema, options?: CompileOptions): CompiledSchema {
  const text = textOf(schema)
  if (options !== undefined) return compile(text, options)
  const known = compiled.get(text)?.deref()
  if (known !== undefined) return known
  const fresh = compile(text, {})
  compiled.set(text, new WeakRef(fresh))
  dropped.register(fresh, text)
  return fresh
}

provideCompiler(compileSchema)

/** A schema that JSON can't express is refused with the reason, not with an error of the stack. */
function textOf(schema: JsonSchema): string {
  try {
    return JSON.stringify(schema)
  } catch (error) {
    guardSchema(schema)
    throw error
  }
}

export function compiledCount(): number {
  return compiled.size
}

function compile(text: string, { draft: given, formats = true, documents }: CompileOptions): CompiledSchema {
  const schema: unknown = JSON.parse(text)
  const { ordinary, cost, textCost, repeats, hasDefaults, unusual } = guardSchema(schema, documents)
  const draft = given ?? schemaDraft(schema)
  normaliseSchema(schema, draft)
  // Nothing refers to it by `$id`, and other tools may have the same one.
  if (ordinary && isObject(schema)) delete schema.$id
  checkAgainstDraft(schema, draft)
  const references = new SchemaReferences(schema, documents)
  const ajv = ordinary ? ajvCheck(schema, draft, formats) : undefined
  const check = ajv?.check
  const patterns = ajv?.patterns ?? []
  // Infinite recursion shows on the first value.
  check?.({})
  return {
    check,
    cost,
    unusual,
    textCost: textCost + Math.max(0, ...patterns) * Math.min(cost, patterns.length * repeats),
    fillDefaults: hasDefaults ? planDefaults(schema, references, unusual) : undefined,
    explain(params) {
      const pattern = (source: string) => linearPattern(source) ?? nativePattern(source)
      const problems = explainParams(schema, params, { references, draft07: draft === 'draft-07', formats, pattern })
      return problems.length > 0 ? problems : [UNEXPLAINED]
    },
  }
}

/** The defaults of one schema at its own level. Plans may be cyclic, like schemas. */
interface Plan {
  properties: PlannedProperty[]
  items: Plan[]
  fills: boolean
}

interface PlannedProperty {
  readonly name: string
  readonly value: (() => unknown) | undefined
  /** The length as JSON, with the name. */
  readonly characters: number
  readonly plan: Plan
}

const DEPTH = 64

/**
 * Plans the defaults of `properties`, `items`, `allOf` and references. Filling returns the number of added characters
 * and visited values, and throws above the size limit: nested defaults multiply.
 */
function planDefaults(
  schema: unknown,
  references: SchemaReferences,
  unusual: ReadonlySet<string>,
): ((params: Params) => number) | undefined {
  const plans = new Map<unknown, Plan>()
  const root = planOf(schema, { references, unusual }, plans)
  const fills = (plan: Plan) =>
    plan.properties.some(({ value, plan: inner }) => value !== undefined || inner.fills) ||
    plan.items.some((inner) => inner.fills)
  for (let changed = true; changed; ) {
    changed = false
    for (const plan of plans.values()) {
      if (plan.fills || !fills(plan)) continue
      plan.fills = true
      changed = true
    }
  }
  for (const plan of plans.values()) {
    plan.properties = plan.properties.filter(({ value, plan: inner }) => value !== undefined || inner.fills)
    plan.items = plan.items.filter((inner) => inner.fills)
  }
  return root.fills ? (params) => fill(root, params, 0, 0) : undefined
}

function fill(plan: Plan, value: unknown, depth: number, before: number): number {
  let total = before + 1
  if (total > LIMITS.paramsBytes) throw tooLarge()
  if (depth > DEPTH) return total
  if (Array.isArray(value)) {
    for (const inner of plan.items) for (const item of value) total = fill(inner, item, depth + 1, total)
  } else if (isObject(value)) {
    for (const { name, value: preset, characters, plan: inner } of plan.properties) {
      if (!Object.hasOwn(value, name) || value[name] === undefined) {
        if (preset === undefined) continue
        total += characters
        if (total > LIMITS.paramsBytes) throw tooLarge()
        setOwn(value, name, preset())
      }
      if (inner.fills) total = fill(inner, value[name], depth + 1, total)
    }
  }
  return total
}

function tooLarge(): ToolExecutionError {
  const problem = 'the parameters with their defaults are too large'
  return new ToolExecutionError('INVALID_PARAMETERS', `Invalid parameters: ${problem}`)
}

interface Around {
  readonly references: SchemaReferences
  /** The unusual names that callers may send. Neither may defaults introduce others. */
  readonly unusual: ReadonlySet<string>
}

function planOf(schema: unknown, around: Around, plans: Map<unknown, Plan>): Plan {
  const known = plans.get(schema)
  if (known !== undefined) return known
  const plan: Plan = { properties: [], items: [], fills: false }
  plans.set(schema, plan)
  for (const part of allParts(schema, around.references)) {
    if (isObject(part.properties)) {
      for (const name of Object.keys(part.properties)) {
        const property = part.properties[name]
        const text = presetOf(property, around)
        plan.properties.push({
          name,
          value: text === undefined ? undefined : factory(text),
          characters: name.length + (text?.length ?? 0),
          plan: planOf(property, around, plans),
        })
      }
    }
    const items = isObject(part.items) ? part.items : undefined
    if (items !== undefined) plan.items.push(planOf(items, around, plans))
  }
  return plan
}

/** A schema with everything that applies beside it: references and `allOf`. */
function allParts(schema: unknown, references: SchemaReferences): Set<Record<string, unknown>> {
  const parts = new Set<Record<string, unknown>>()
  if (isObject(schema)) parts.add(schema)
  for (const part of parts) {
    const beside = Array.isArray(part.allOf) ? [...part.allOf] : []
    if (part.$ref !== undefined) beside.push(references.target(part, part.$ref))
    for (const other of beside) if (isObject(other)) parts.add(other)
  }
  return parts
}

function factory(text: string): () => unknown {
  const fixed: unknown = JSON.parse(text)
  return typeof fixed === 'object' && fixed !== null ? () => JSON.parse(text) : () => fixed
}

function presetOf(schema: unknown, { references, unusual }: Around): string | undefined {
  for (const part of allParts(schema, references)) {
    if (!Object.hasOwn(part, 'default')) continue
    return JSON.stringify(part.default, (key, value) =>
      UNUSUAL_NAMES.has(key) && !unusual.has(key) ? undefined : value,
    )
  }
  return undefined
}
