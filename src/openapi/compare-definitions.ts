import { canonicalText } from '../core/schema/canonical-text.ts'
import type { ToolDefinition } from '../core/tool.ts'
import { isObject, type RawObject } from './documents.ts'

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
  /** Keys added by hand, which stay. */
  readonly kept: readonly { readonly name: string; readonly keys: readonly string[] }[]
  /** The definitions as they are now. */
  readonly definitions: readonly ToolDefinition[]
}

/**
 * Holds the definitions of an import against those of the last one, by name. `keepsAuth` says that `auth` is not the
 * import's: the document is silent about it.
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

/** The keys that differ, those inside `implementation` one by one. */
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
