import { foreignText } from '../../core/json/json-depth.ts'
import { hasType } from '../../core/json/json-type.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { CanonicalSchema } from './canonical-schema.ts'
import { type FullRules, FullWriter } from './full-writer.ts'
import { ANNOTATIONS, typesOf } from './intersect-schemas.ts'
import { type DialectSchema, Losses, withWords } from './losses.ts'
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

const ALLOWED = new Set([
  'additionalProperties',
  'anyOf',
  'const',
  'description',
  'enum',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'format',
  'items',
  'maximum',
  'maxItems',
  'minimum',
  'minItems',
  'multipleOf',
  'pattern',
  'properties',
  'required',
  'title',
  'type',
])

/** Not supported in strict mode, but the description can state them. */
const SAID = new Set(['default', 'deprecated', 'examples', 'format', 'maxLength', 'minLength', 'uniqueItems'])

const STRICT_FORMATS = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'])

/** The lowest limits OpenAI has had: a schema above a limit fails the whole request. */
const LIMITS = { levels: 5, properties: 100, values: 500, characters: 15_000 } as const

const STRICT_TYPES = ['string', 'integer', 'number', 'boolean', 'null']

class NotStrictError extends Error {}

/** Converts a schema to strict mode, or throws a `NotStrictError`. */
class StrictWriter {
  readonly losses = new Losses()
  #properties = 0
  #values = 0
  #characters = 0

  write(schema: JsonSchema, level = 1): JsonSchema {
    if (level > LIMITS.levels) throw new NotStrictError()
    if (schema.$ref !== undefined) return this.#reference(schema)
    const result: Record<string, unknown> = {}
    const words: string[] = []
    for (const [keyword, value] of Object.entries(schema)) {
      if (ALLOWED.has(keyword) && (keyword !== 'format' || STRICT_FORMATS.has(foreignText(value))))
        result[keyword] = value
      else if (SAID.has(keyword)) words.push(...this.losses.say(keyword, value))
      else throw new NotStrictError()
    }
    if (words.length > 0) result.description = withWords(result.description, words)
    if (result.anyOf !== undefined) this.#choice(result, level)
    else this.#typed(result, level)
    return result
  }

  count(text: unknown): void {
    this.#characters += foreignText(text).length
    if (this.#characters > LIMITS.characters) throw new NotStrictError()
  }

  /** OpenAI allows no keywords beside a reference. */
  #reference(schema: JsonSchema): JsonSchema {
    for (const keyword of Object.keys(schema)) {
      if (keyword === '$ref') continue
      if (!['title', 'description', 'default'].includes(keyword)) throw new NotStrictError()
      this.losses.add(keyword)
    }
    return { $ref: schema.$ref }
  }

  /** OpenAI rejects alternatives that start with the same key. */
  #choice(result: Record<string, unknown>, level: number): void {
    const beside = Object.keys(result).filter((keyword) => !['anyOf', 'title', 'description'].includes(keyword))
    const choices = (result.anyOf as JsonSchema[]).map((one) => this.write(one, level))
    const objects = choices.filter((one) => one.$ref !== undefined || typesOf(one).includes('object'))
    if (beside.length > 0 || objects.length > 1) throw new NotStrictError()
    result.anyOf = choices
  }

  #typed(result: Record<string, unknown>, level: number): void {
    const values = 'const' in result ? [result.const] : (result.enum as unknown[] | undefined)
    if (values !== undefined) {
      result.type ??= typeOfValues(values)
      this.#values += values.length
      values.forEach((value) => void this.count(value))
      if (this.#values > LIMITS.values) throw new NotStrictError()
    }
    const types = typesOf(result)
    if (types.length === 0) throw new NotStrictError()
    if (types.includes('array')) {
      if (!isObject(result.items)) throw new NotStrictError()
      result.items = this.write(result.items, level + 1)
    }
    if (types.includes('object')) this.#object(result, level)
  }

  /** Optional properties would have to be nullable, and the tool doesn't expect null. */
  #object(result: Record<string, unknown>, level: number): void {
    const { properties, additionalProperties: others } = result
    if (others !== false && (others !== undefined || properties === undefined)) throw new NotStrictError()
    const entries = Object.entries((properties ?? {}) as Record<string, JsonSchema>)
    const required = new Set(result.required as string[] | undefined)
    if (required.size !== entries.length || entries.some(([name]) => !required.has(name))) throw new NotStrictError()
    this.#properties += entries.length
    if (this.#properties > LIMITS.properties) throw new NotStrictError()
    result.properties = Object.fromEntries(
      entries.map(([name, schema]) => {
        this.count(name)
        return [name, this.write(schema, level + 1)]
      }),
    )
    result.required = entries.map(([name]) => name)
    result.additionalProperties = false
  }
}

function typeOfValues(values: readonly unknown[]): unknown {
  const types = new Set(values.map((value) => STRICT_TYPES.find((type) => hasType(value, type))))
  if (types.has(undefined)) throw new NotStrictError()
  return types.size === 1 ? [...types][0] : [...types]
}

/** OpenAI uses Python patterns without lookaround; an invalid pattern fails the whole request. */
const UNFIT_PATTERN = /\(\?[=!<]|\\(?:[pPck]|u\{)/

const RULES: FullRules = {
  refuses: (keyword, value) =>
    keyword === 'propertyNames' || (keyword === 'pattern' && UNFIT_PATTERN.test(foreignText(value))),
  itemsRequired: true,
}

/** JSON Schema with an object at the root; strict mode if it loses nothing. */
export function openaiDialect(canonical: CanonicalSchema, losses: Losses): DialectSchema {
  const { schema: root, words } = rootObject(canonical, losses)
  const { not, ...own } = root
  if (not !== undefined) losses.add('not')
  const schema = new FullWriter(canonical.references, RULES, losses).root(own)
  const strict = words.length === 0 && losses.list.length === 0 ? strictSchema(schema, losses) : undefined
  return { schema: strict ?? { type: 'object', properties: {}, ...schema }, words, strict: strict !== undefined }
}

function strictSchema(schema: JsonSchema, losses: Losses): JsonSchema | undefined {
  const writer = new StrictWriter()
  try {
    const { $defs, ...own } = schema
    const root = writer.write(own)
    const definitions = Object.entries(($defs ?? {}) as Record<string, JsonSchema>).map(([name, definition]) => {
      writer.count(name)
      return [name, writer.write(definition)]
    })
    losses.list.push(...writer.losses.list)
    return definitions.length === 0 ? root : { ...root, $defs: Object.fromEntries(definitions) }
  } catch (error) {
    if (error instanceof NotStrictError) return undefined
    throw error
  }
}
