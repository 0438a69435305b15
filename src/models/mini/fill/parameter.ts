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

/** Objects in objects are looked into so deep. */
const DEEPEST = 2
const MOST_PARAMETERS = 40

/** The parameters that a schema declares at its top level. */
export function readParameters(schema: JsonSchema): Parameter[] {
  return membersOf(schema, new SchemaReferences(schema), DEEPEST)
}

function membersOf(schema: unknown, references: SchemaReferences, depth: number): Parameter[] {
  const root = follow(schema, references)
  const properties = isObject(root.properties) ? root.properties : {}
  const required = Array.isArray(root.required) ? root.required : []
  return Object.entries(properties)
    .slice(0, MOST_PARAMETERS)
    .map(([name, property]) => read(name, property, required.includes(name), references, depth))
}

function read(
  name: string,
  written: unknown,
  required: boolean,
  references: SchemaReferences,
  depth: number,
): Parameter {
  const schema = follow(written, references)
  const note = isObject(written) && typeof written.description === 'string' ? written.description : schema.description
  const description = typeof note === 'string' ? note : ''
  const options = 'const' in schema ? [schema.const] : Array.isArray(schema.enum) ? schema.enum : []
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
    members: kind === 'object' && depth > 0 ? membersOf(schema, references, depth - 1) : [],
    ...(kind === 'list' && { items: read(name, schema.items, true, references, 0) }),
    ...(typeof schema.format === 'string' && { format: schema.format }),
    ...number('minimum'),
    ...number('maximum'),
    ...(fallback !== undefined && { fallback }),
  }
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
