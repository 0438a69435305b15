import type { Documents } from './documents.ts'
import { isObject, own, ownList, ownObject, quoted, type Raw, type RawObject } from './raw.ts'

/** An object schema as one list of properties. */
export interface FlatObject {
  /** Where a property is described more than once, all of that holds. */
  readonly properties: ReadonlyMap<string, readonly Raw[]>
  readonly required: ReadonlySet<string>
  /** Whether it may have no others. */
  readonly closed: boolean
  /** Whether the document says that it may have others. */
  readonly open: boolean
  /** Rules about it as a whole that are not carried over. */
  readonly lost: ReadonlySet<string>
  /** Each is a list of names of which one must be there whole. */
  readonly oneRequired: readonly (readonly (readonly string[])[])[]
}

const MOST_NESTED = 32
/** With more, it is better one parameter than so many. */
const MOST_PROPERTIES = 1_000
/** What cannot be said of properties one by one. */
const OF_THE_WHOLE = [
  'not',
  'if',
  'patternProperties',
  'propertyNames',
  'dependentSchemas',
  'dependentRequired',
  'unevaluatedProperties',
  'enum',
  'const',
  'items',
]
/** What would count other parameters too. */
const COUNTS = ['minProperties', 'maxProperties']
const ANNOTATIONS: ReadonlySet<string> = new Set(['required', 'title', 'description', 'type'])

/**
 * The properties of an object schema, those of its `allOf` among them; undefined where it is more than properties, so
 * that only the whole says what it means. Throws `Unmappable` where a reference leads nowhere.
 */
export function flattenObject(raw: Raw, documents: Documents): FlatObject | undefined {
  const properties = new Map<string, Raw[]>()
  const required = new Set<string>()
  const oneRequired: (readonly (readonly string[])[])[] = []
  const seen = new Set<unknown>()
  const lost = new Set<string>()
  let closed = false
  let open = false

  function add(from: Raw, nested: number): boolean {
    const { value, file } = documents.follow(from)
    if (!isObject(value) || nested > MOST_NESTED || !isObjectType(value)) return false
    if (seen.has(value)) return true
    seen.add(value)
    if (OF_THE_WHOLE.some((keyword) => Object.hasOwn(value, keyword))) return false
    for (const rule of COUNTS) if (Object.hasOwn(value, rule)) lost.add(rule)
    const kinds = Object.keys(ownObject(own(value, 'discriminator'), 'mapping'))
    if (nested === 0 && kinds.length > 0) lost.add(`the kinds ${quoted(kinds.join(', '))}`)
    const named = ownObject(value, 'properties')
    if (Object.keys(named).length + properties.size > MOST_PROPERTIES) return false
    for (const [name, property] of Object.entries(named)) {
      const known = properties.get(name) ?? []
      if (!known.some((one) => one.value === property)) properties.set(name, [...known, { value: property, file }])
    }
    for (const name of ownList(value, 'required')) if (typeof name === 'string') required.add(name)
    const others = own(value, 'additionalProperties')
    if (others === false) closed = nested === 0
    else if (others === true || (isObject(others) && Object.keys(others).length === 0)) open = true
    else if (isObject(others)) return false
    for (const keyword of ['anyOf', 'oneOf']) {
      const members = ownList(value, keyword).map((member) =>
        requiredOnly(documents.follow({ value: member, file }).value),
      )
      if (!members.every((member) => member !== undefined)) return false
      if (members.length > 0 && members.every((names) => names.length > 0)) oneRequired.push(members)
    }
    return ownList(value, 'allOf').every((member) => add({ value: member, file }, nested + 1))
  }

  if (!add(raw, 0) || properties.size === 0) return undefined
  return { properties, required, closed: closed && seen.size === 1, open, lost, oneRequired }
}

function isObjectType(value: RawObject): boolean {
  const type = own(value, 'type')
  return type === undefined || [type].flat().includes('object')
}

/** The names that a schema requires; undefined where it says more than that. */
function requiredOnly(value: unknown): string[] | undefined {
  if (!isObject(value) || !Object.keys(value).every((keyword) => ANNOTATIONS.has(keyword))) return undefined
  if (!isObjectType(value)) return undefined
  return ownList(value, 'required').filter((name) => typeof name === 'string')
}
