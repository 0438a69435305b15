import { hasType } from '../../core/schema/json-type.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { CanonicalSchema } from './canonical-schema.ts'
import { type FullRules, FullWriter } from './full-writer.ts'
import { typesOf } from './intersect-schemas.ts'
import { type DialectSchema, Losses, withWords } from './losses.ts'
import { rootObject } from './root-object.ts'

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

const FORMATS = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'])

/** The lowest limits OpenAI has had: a schema above a limit fails the whole request. */
const LIMITS = { levels: 5, properties: 100, values: 500, characters: 15_000 } as const

const TYPES = ['string', 'integer', 'number', 'boolean', 'null']

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
      if (ALLOWED.has(keyword) && (keyword !== 'format' || FORMATS.has(String(value)))) result[keyword] = value
      else if (SAID.has(keyword)) words.push(...this.losses.say(keyword, value))
      else throw new NotStrictError()
    }
    if (words.length > 0) result.description = withWords(result.description, words)
    if (result.anyOf !== undefined) this.#choice(result, level)
    else this.#typed(result, level)
    return result
  }

  count(text: unknown): void {
    this.#characters += String(text).length
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
  const types = new Set(values.map((value) => TYPES.find((type) => hasType(value, type))))
  if (types.has(undefined)) throw new NotStrictError()
  return types.size === 1 ? [...types][0] : [...types]
}

/** OpenAI uses Python patterns without lookaround; an invalid pattern fails the whole request. */
const UNFIT_PATTERN = /\(\?[=!<]|\\(?:[pPck]|u\{)/

const RULES: FullRules = {
  refuses: (keyword, value) =>
    keyword === 'propertyNames' || (keyword === 'pattern' && UNFIT_PATTERN.test(String(value))),
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
