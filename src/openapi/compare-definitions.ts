import { canonicalText } from '../core/json/canonical-text.ts'
import { isObject } from '../core/schema/schema-keywords.ts'
import type { ToolDefinition } from '../core/tool.ts'
import type { RawObject } from './documents.ts'

/** The keys that an import sets. Other keys were added by hand and stay. */
const IMPORTED: ReadonlySet<string> = new Set(['name', 'description', 'parameters', 'implementation'])
const IMPORTED_INSIDE: ReadonlySet<string> = new Set([
  'type',
  'method',
  'url',
  'headers',
  'query',
  'params_mapping',
  'params_in',
  'body_param',
  'body',
  'auth',
])

/** The difference between an import and the previous one. */
export interface Comparison {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly { readonly name: string; readonly keys: readonly string[] }[]
  readonly unchanged: readonly string[]
  readonly kept: readonly { readonly name: string; readonly keys: readonly string[] }[]
  readonly definitions: readonly ToolDefinition[]
}

/**
 * Compares an import with the previous one by name. With `keepsAuth` the document says nothing about `auth`, so the
 * previous `auth` stays.
 */
export function compareDefinitions(
  before: readonly RawObject[],
  now: readonly ToolDefinition[],
  keepsAuth: boolean,
): Comparison {
  const old = new Map(before.map((definition) => [definition.name, definition]))
  const names = new Set(now.map(({ name }) => name))
  const added: string[] = []
  const unchanged: string[] = []
  const changed: { name: string; keys: string[] }[] = []
  const kept: { name: string; keys: string[] }[] = []
  const definitions = now.map((definition) => {
    const { name } = definition
    const last = old.get(name)
    if (last === undefined) {
      added.push(name)
      return definition
    }
    const merged = withHandMade(last, definition, keepsAuth)
    if (merged.keys.length > 0) kept.push({ name, keys: merged.keys })
    const keys = differences(last, merged.definition)
    if (keys.length > 0) changed.push({ name, keys })
    else unchanged.push(name)
    return merged.definition
  })
  const removed = before.flatMap(({ name }) => (typeof name === 'string' && !names.has(name) ? [name] : []))
  return { added, removed, changed, unchanged, kept, definitions }
}

function withHandMade(
  last: RawObject,
  now: ToolDefinition,
  keepsAuth: boolean,
): { readonly definition: ToolDefinition; readonly keys: string[] } {
  const inside = isObject(last.implementation) ? last.implementation : {}
  const own = Object.keys(last).filter((key) => !IMPORTED.has(key))
  const ownInside = Object.keys(inside).filter((key) => !IMPORTED_INSIDE.has(key) || (key === 'auth' && keepsAuth))
  if (own.length + ownInside.length === 0) return { definition: now, keys: [] }
  return {
    keys: [...own, ...ownInside.map((key) => `implementation.${key}`)],
    definition: {
      ...now,
      implementation: { ...now.implementation, ...picked(inside, ownInside) },
      ...picked(last, own),
    },
  }
}

const picked = (value: RawObject, keys: readonly string[]): RawObject =>
  Object.fromEntries(keys.map((key) => [key, value[key]]))

/** The keys that differ, with those inside `implementation` listed separately. */
function differences(last: RawObject, now: ToolDefinition): string[] {
  const flat = (definition: object): Map<string, unknown> => {
    const { implementation, ...rest } = definition as RawObject
    const inside = Object.entries(isObject(implementation) ? implementation : {})
    return new Map([
      ...Object.entries(rest),
      ...inside.map(([key, value]) => [`implementation.${key}`, value] as const),
    ])
  }
  const [before, after] = [flat(last), flat(now)]
  return [...new Set([...before.keys(), ...after.keys()])].filter((key) => {
    const [one, other] = [before.get(key), after.get(key)]
    return before.has(key) !== after.has(key) || canonicalText(one) !== canonicalText(other)
  })
}
