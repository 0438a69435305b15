import { isObject } from '../../../core/schema/schema-keywords.ts'
import { SchemaReferences } from '../../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../../core/tool.ts'
import { statedDefault } from '../values/stated-default.ts'

/** What a value can be found by. */
export type ParameterKind = 'text' | 'number' | 'integer' | 'boolean' | 'option' | 'list' | 'object'

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
  /** What the tool takes where it is told nothing, as its schema or description says. */
  readonly fallback?: unknown
}

/** Limits on what is read of a schema: values are looked for once per parameter, and each option is compared. */
const DEEPEST = 2
const MOST_PARAMETERS = 40
const MOST_NESTED = 120
const MOST_OPTIONS = 1_000
const LONGEST_DESCRIPTION = 4_000

/** The parameters that a schema declares at its top level. */
export function readParameters(schema: JsonSchema): Parameter[] {
  return membersOf(
    schema,
    { references: new SchemaReferences(schema), nested: MOST_NESTED, options: MOST_OPTIONS },
    DEEPEST,
  )
}

interface Reading {
  readonly references: SchemaReferences
  /** How many parameters of nested objects, and how many options, may still be read. */
  nested: number
  options: number
}

function membersOf(schema: unknown, reading: Reading, depth: number): Parameter[] {
  const root = follow(schema, reading.references)
  const properties = isObject(root.properties) ? root.properties : {}
  const required = Array.isArray(root.required) ? root.required : []
  return Object.entries(properties)
    .slice(0, MOST_PARAMETERS)
    .flatMap(([name, property]) => {
      if (depth < DEEPEST && reading.nested-- <= 0) return []
      return [read(name, property, required.includes(name), reading, depth)]
    })
}

function read(name: string, written: unknown, required: boolean, reading: Reading, depth: number): Parameter {
  const schema = follow(written, reading.references)
  const note = isObject(written) && typeof written.description === 'string' ? written.description : schema.description
  const description = typeof note === 'string' ? note.slice(0, LONGEST_DESCRIPTION) : ''
  const options = optionsIn(schema, reading)
  const type = typeOf(schema)
  const fallback = schema.default ?? statedDefault(description)
  const kind = options.length > 0 ? 'option' : kindOf(type)
  const number = (key: string): object => (typeof schema[key] === 'number' ? { [key]: schema[key] } : {})
  return {
    name,
    description,
    kind,
    required,
    options,
    members: kind === 'object' && depth > 0 ? membersOf(schema, reading, depth - 1) : [],
    ...(kind === 'list' && { items: read(name, schema.items, true, reading, 0) }),
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
function follow(schema: unknown, references: SchemaReferences): Record<string, unknown> {
  let at = schema
  for (let hops = 0; hops < 16 && isObject(at); hops++) {
    const branches: unknown = at.anyOf ?? at.oneOf
    if (typeof at.$ref === 'string' && at.type === undefined) at = references.target(at, at.$ref)
    else if (Array.isArray(branches) && at.type === undefined) {
      at = branches.find((branch) => isObject(branch) && branch.type !== 'null')
    } else break
  }
  return isObject(at) ? at : {}
}

const typeOf = ({ type }: Record<string, unknown>): unknown =>
  Array.isArray(type) ? type.find((one) => one !== 'null') : type

function kindOf(type: unknown): ParameterKind {
  if (type === 'number' || type === 'integer' || type === 'boolean' || type === 'object') return type
  return type === 'array' ? 'list' : 'text'
}
