import { hasType } from '../../core/schema/json-type.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { CanonicalSchema } from './canonical-schema.ts'
import { ANNOTATIONS, typesOf } from './intersect-schemas.ts'
import type { DialectSchema, Losses } from './losses.ts'
import { fitParameterNames, rootObject } from './root-object.ts'
import { type Draught, type SubsetRules, SubsetWriter } from './subset-writer.ts'

/** The type that each keyword applies to. */
const KEYWORD_TYPES: ReadonlyMap<string, string> = new Map([
  ...['minLength', 'maxLength', 'pattern', 'contentEncoding', 'contentMediaType'].map(
    (key) => [key, 'string'] as const,
  ),
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'].map(
    (key) => [key, 'number'] as const,
  ),
  ...['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains', 'minContains', 'maxContains'].map(
    (key) => [key, 'array'] as const,
  ),
  ...[
    'properties',
    'required',
    'additionalProperties',
    'patternProperties',
    'propertyNames',
    'minProperties',
    'maxProperties',
    'dependentRequired',
    'dependentSchemas',
  ].map((key) => [key, 'object'] as const),
])

const TYPES = ['string', 'number', 'boolean', 'array', 'object', 'null']

/** Formats by type; Gemini rejects all others. */
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ['date-time'],
  number: ['float', 'double'],
  integer: ['int32', 'int64'],
}

/** The keywords that Gemini supports in `parametersJsonSchema`. */
const GEMINI_RULES: SubsetRules = {
  keywords: new Set([
    'additionalProperties',
    'anyOf',
    'description',
    'enum',
    'format',
    'items',
    'maximum',
    'maxItems',
    'minimum',
    'minItems',
    'prefixItems',
    'properties',
    'required',
    'title',
    'type',
  ]),

  shape(draught) {
    const { schema } = draught
    const types = typeNames(schema)
    const kinds = types.filter((type) => type !== 'null' && !(type === 'integer' && types.includes('number')))
    const values = schema.enum as unknown[] | undefined
    const takesNull = types.includes('null') && (values === undefined || values.includes(null))
    if (kinds.length > 1 || (takesNull && values !== undefined && kinds.length > 0)) {
      const parts = kinds.map((kind) => part(schema, kind)).filter((one) => one !== undefined)
      return takesNull ? [...parts, { type: 'null' }] : parts
    }
    const [kind] = kinds
    if (schema.format !== undefined && !FORMATS[kind ?? '']?.includes(schema.format as string)) draught.drop('format')
    if (kind === undefined) {
      if (takesNull) {
        schema.type = 'null'
        delete schema.enum
      } else if (values !== undefined) draught.drop('enum')
      return undefined
    }
    schema.type = takesNull ? [kind, 'null'] : kind
    if (values !== undefined) pickValues(draught, kind, values)
    SHAPES[kind]?.(draught)
    return undefined
  },

  nullable(schema) {
    const types = typesOf(schema)
    if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] }
    if (types.length === 0 || types.includes('null')) return schema
    if (schema.enum === undefined) return { ...schema, type: [...types, 'null'] }
    const { description, title, ...rest } = schema
    return {
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      anyOf: [rest, { type: 'null' }],
    }
  },
}

const SHAPES: Readonly<Record<string, (draught: Draught) => void>> = {
  object({ schema, weaken }) {
    if (isObject(schema.patternProperties)) {
      // A closed object would exclude the properties that the patterns allow.
      const [first, ...others] = Object.values(schema.patternProperties)
      if (schema.additionalProperties !== false || others.length > 0) delete schema.additionalProperties
      else schema.additionalProperties = first
      delete schema.patternProperties
      weaken('patternProperties', 'additionalProperties')
    }
    if (!Array.isArray(schema.required)) return
    const properties = isObject(schema.properties) ? schema.properties : {}
    const unnamed = (schema.required as string[]).filter((name) => !Object.hasOwn(properties, name))
    // Gemini rejects required properties without a schema.
    if (unnamed.length > 0) {
      schema.properties = { ...properties, ...Object.fromEntries(unnamed.map((name) => [name, {}])) }
    }
  },
  array({ schema }) {
    if (schema.items === false) {
      const listed = Array.isArray(schema.prefixItems) ? schema.prefixItems.length : 0
      schema.maxItems = Math.min(listed, (schema.maxItems as number | undefined) ?? listed)
      delete schema.items
    }
    if (schema.items === undefined && schema.prefixItems === undefined) schema.items = {}
  },
  number(draught) {
    bound(draught, 'exclusiveMinimum', 'minimum', (bound) => bound)
    bound(draught, 'exclusiveMaximum', 'maximum', (bound) => bound)
  },
  integer(draught) {
    bound(draught, 'exclusiveMinimum', 'minimum', (bound) => Math.floor(bound) + 1)
    bound(draught, 'exclusiveMaximum', 'maximum', (bound) => Math.ceil(bound) - 1)
  },
}

/** Gemini only accepts strings and numbers as values, and no empty string. */
function pickValues({ schema, drop, weaken }: Draught, kind: string, values: readonly unknown[]): void {
  const fit = values.filter((value) => hasType(value, kind))
  const full = fit.filter((value) => value !== '')
  if (full.length === 0 || !['string', 'number', 'integer'].includes(kind)) {
    drop('enum')
    return
  }
  if (full.length < fit.length) weaken('enum', 'enum')
  schema.enum = full
}

/** An inclusive bound is exact for integers; for numbers, the description has the exact one. */
function bound({ schema, drop }: Draught, exclusive: string, inclusive: string, near: (bound: number) => number): void {
  const limit = schema[exclusive]
  if (typeof limit !== 'number') return
  const own = schema[inclusive]
  const tighter = inclusive === 'minimum' ? Math.max : Math.min
  schema[inclusive] = typeof own === 'number' ? tighter(own, near(limit)) : near(limit)
  if (schema.type === 'integer' || (Array.isArray(schema.type) && schema.type.includes('integer')))
    delete schema[exclusive]
  else drop(exclusive)
}

/** The declared types, or the type that all keywords apply to. */
function typeNames(schema: JsonSchema): string[] {
  const named = typesOf(schema)
  if (named.length > 0) return named
  if (Array.isArray(schema.enum))
    return TYPES.filter((type) => (schema.enum as unknown[]).some((value) => hasType(value, type)))
  const meant = new Set(Object.keys(schema).flatMap((keyword) => KEYWORD_TYPES.get(keyword) ?? []))
  return meant.size === 1 ? [...meant] : []
}

/** The part of a schema for one type; undefined if no enum value has that type. */
function part(schema: JsonSchema, kind: string): JsonSchema | undefined {
  const entries = Object.entries(schema).filter(([keyword]) => {
    const type = KEYWORD_TYPES.get(keyword)
    return (
      !ANNOTATIONS.has(keyword) && (type === undefined || type === kind || (type === 'number' && kind === 'integer'))
    )
  })
  const result: Record<string, unknown> = { ...Object.fromEntries(entries), type: kind }
  if (!Array.isArray(schema.enum)) return result
  const values = schema.enum.filter((value) => hasType(value, kind))
  return values.length === 0 ? undefined : { ...result, enum: values }
}

const PARAMETER_NAME = /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/

export function geminiDialect(canonical: CanonicalSchema, losses: Losses): DialectSchema {
  const { schema: root, words } = rootObject(canonical, losses)
  const fit = fitParameterNames(root, PARAMETER_NAME, losses)
  return {
    schema: {
      type: 'object',
      properties: {},
      ...new SubsetWriter(canonical.references, GEMINI_RULES, losses).root(fit),
    },
    words,
  }
}
