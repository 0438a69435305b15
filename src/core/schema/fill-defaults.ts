import { LIMITS } from '../snapshot.ts'
import type { Params } from '../tool.ts'
import { ToolExecutionError } from '../tool-execution-error.ts'
import { isObject } from './schema-keywords.ts'
import type { SchemaReferences } from './schema-references.ts'

/** What one schema fills in at its own level; plans refer to each other where schemas do. */
interface Plan {
  properties: PlannedProperty[]
  items: Plan[]
  /** Whether there is a default here or anywhere below. */
  fills: boolean
}

interface PlannedProperty {
  readonly name: string
  /** Gives the default, a new one each time. */
  readonly value: (() => unknown) | undefined
  /** How long it is as JSON, its name included. */
  readonly characters: number
  readonly plan: Plan
}

/** Parameters are at most this deep. */
const DEPTH = 64

/** Keys that no caller may send, and no stranger's schema may bring in. */
const REFUSED_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * A function that fills `default`s into parameters in place, through `properties`, `items`, `allOf` and references;
 * undefined where the schema has none. It gives how much that was: the characters that came in, and the values looked
 * at. It throws where that is more than a caller may send, since defaults in items, or inside each other, multiply. An
 * object that the caller did not send is not made up for the sake of the defaults inside it.
 */
export function planDefaults(schema: unknown, references: SchemaReferences): ((params: Params) => number) | undefined {
  const plans = new Map<unknown, Plan>()
  const root = planOf(schema, references, plans)
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

/** Gives how much it was, with what was `before`. */
function fill(plan: Plan, value: unknown, depth: number, before: number): number {
  let total = before + 1
  if (total > LIMITS.paramsBytes) throw tooMuch()
  if (depth > DEPTH) return total
  if (Array.isArray(value)) {
    for (const inner of plan.items) for (const item of value) total = fill(inner, item, depth + 1, total)
  } else if (isObject(value)) {
    for (const { name, value: preset, characters, plan: inner } of plan.properties) {
      if (!Object.hasOwn(value, name) || value[name] === undefined) {
        if (preset === undefined) continue
        total += characters
        if (total > LIMITS.paramsBytes) throw tooMuch()
        value[name] = preset()
      }
      if (inner.fills) total = fill(inner, value[name], depth + 1, total)
    }
  }
  return total
}

function tooMuch(): ToolExecutionError {
  const problem = 'with their defaults the parameters are too large'
  return new ToolExecutionError('INVALID_PARAMETERS', `Invalid parameters: ${problem}`)
}

function planOf(schema: unknown, references: SchemaReferences, plans: Map<unknown, Plan>): Plan {
  const known = plans.get(schema)
  if (known !== undefined) return known
  const plan: Plan = { properties: [], items: [], fills: false }
  plans.set(schema, plan)
  for (const part of together(schema, references)) {
    if (isObject(part.properties)) {
      for (const name of Object.keys(part.properties)) {
        if (REFUSED_KEYS.has(name)) continue
        const property = part.properties[name]
        const text = presetOf(property, references)
        plan.properties.push({
          name,
          value: text === undefined ? undefined : maker(text),
          characters: name.length + (text?.length ?? 0),
          plan: planOf(property, references, plans),
        })
      }
    }
    const items = isObject(part.items) ? part.items : undefined
    if (items !== undefined) plan.items.push(planOf(items, references, plans))
  }
  return plan
}

/** A schema with all that always holds beside it: what it refers to and its `allOf`, each once. */
function together(schema: unknown, references: SchemaReferences): Set<Record<string, unknown>> {
  const parts = new Set<Record<string, unknown>>()
  if (isObject(schema)) parts.add(schema)
  for (const part of parts) {
    const beside = Array.isArray(part.allOf) ? [...part.allOf] : []
    if (part.$ref !== undefined) beside.push(references.target(part, part.$ref))
    for (const other of beside) if (isObject(other)) parts.add(other)
  }
  return parts
}

function maker(text: string): () => unknown {
  const fixed: unknown = JSON.parse(text)
  return typeof fixed === 'object' && fixed !== null ? () => JSON.parse(text) : () => fixed
}

/** The default as JSON, without the keys that are refused. */
function presetOf(schema: unknown, references: SchemaReferences): string | undefined {
  for (const part of together(schema, references)) {
    if (!Object.hasOwn(part, 'default')) continue
    return JSON.stringify(part.default, (key, value) => (REFUSED_KEYS.has(key) ? undefined : value))
  }
  return undefined
}
