import type { JsonSchema } from '../base/port.ts'
import { isObject } from '../base/port.ts'

/** What a value can be found by. */
type ParameterKind = 'text' | 'number' | 'integer' | 'boolean' | 'option' | 'list' | 'object'

/** One parameter of a tool, as far as values for it are looked for. */
export interface Parameter {
  readonly name: string
  readonly description: string
  readonly kind: ParameterKind
  readonly required: boolean
  /** What an `option` can be; what a list can hold. */
  readonly options: readonly unknown[]
  /** Of a list. */
  readonly items?: Parameter
  /** Of an object. */
  readonly members: readonly Parameter[]
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  /** The default of the schema. */
  readonly fallback?: unknown
}

/** Limits on what is read of a schema: values are looked for once per parameter, and each option is compared. */
const DEEPEST = 2
const MAX_PARAMETERS = 40
const MAX_NESTED = 120
const MAX_OPTIONS = 1_000
const MAX_DESCRIPTION_LENGTH = 4_000

/** The parameters that a schema declares at its top level. */
export function readParameters(schema: JsonSchema): Parameter[] {
  return membersOf(schema, { root: schema, nested: MAX_NESTED, options: MAX_OPTIONS }, DEEPEST)
}

interface Reading {
  readonly root: JsonSchema
  /** How many parameters of nested objects, and how many options, may still be read. */
  nested: number
  options: number
}

function membersOf(schema: unknown, reading: Reading, depth: number): Parameter[] {
  const root = follow(schema, reading.root)
  const properties = isObject(root.properties) ? root.properties : {}
  const required = Array.isArray(root.required) ? root.required : []
  return Object.entries(properties)
    .slice(0, MAX_PARAMETERS)
    .flatMap(([name, property]) => {
      if (depth < DEEPEST && reading.nested-- <= 0) return []
      return [read(name, property, required.includes(name), reading, depth)]
    })
}

function read(name: string, written: unknown, required: boolean, reading: Reading, depth: number): Parameter {
  const schema = follow(written, reading.root)
  const note = isObject(written) && typeof written.description === 'string' ? written.description : schema.description
  const description = typeof note === 'string' ? note.slice(0, MAX_DESCRIPTION_LENGTH) : ''
  const options = optionsIn(schema, reading)
  const type = typeOf(schema)
  const fallback = schema.default
  const kind = options.length > 0 ? 'option' : kindOf(type)
  const number = (key: string): object => (typeof schema[key] === 'number' ? { [key]: schema[key] } : {})
  return {
    name,
    description,
    kind,
    required,
    options,
    members: kind === 'object' && depth > 0 ? membersOf(schema, reading, depth - 1) : [],
    // Below 0, `depth` counts lists in lists: a schema may refer to itself as its items.
    ...(kind === 'list' &&
      depth > -DEEPEST && { items: read(name, schema.items, true, reading, Math.min(depth, 0) - 1) }),
    ...(typeof schema.format === 'string' && { format: schema.format }),
    ...number('minimum'),
    ...number('maximum'),
    ...(fallback !== undefined && { fallback }),
  }
}

/** An enum beyond the limit is read as a text: the schema still checks the value. */
function optionsIn(schema: Record<string, unknown>, reading: Reading): readonly unknown[] {
  const options = 'const' in schema ? [schema.const] : Array.isArray(schema.enum) ? schema.enum : []
  if (options.length > reading.options) return []
  reading.options -= options.length
  return options
}

/** What a reference leads to; of several shapes the first that is not null. */
function follow(schema: unknown, root: JsonSchema): Record<string, unknown> {
  let at = schema
  for (let hops = 0; hops < 16 && isObject(at); hops++) {
    const branches: unknown = at.anyOf ?? at.oneOf
    if (typeof at.$ref === 'string' && at.type === undefined) at = pointed(root, at.$ref)
    else if (Array.isArray(branches) && at.type === undefined) {
      at = branches.find((branch) => isObject(branch) && branch.type !== 'null')
    } else break
  }
  return isObject(at) ? at : {}
}

/** The target of a reference within the schema, such as `#/$defs/place`. */
function pointed(root: JsonSchema, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined
  const keys = reference.slice(1).split('/').slice(1)
  return keys.reduce<unknown>((at, key) => {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~')
    return typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? Reflect.get(at, name) : undefined
  }, root)
}

const typeOf = ({ type }: Record<string, unknown>): unknown =>
  Array.isArray(type) ? type.find((one) => one !== 'null') : type

function kindOf(type: unknown): ParameterKind {
  if (type === 'number' || type === 'integer' || type === 'boolean' || type === 'object') return type
  return type === 'array' ? 'list' : 'text'
}
