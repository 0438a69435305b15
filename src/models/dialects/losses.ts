import type { JsonSchema } from '../../core/tool.ts'
import type { CanonicalSchema } from './canonical-schema.ts'

/** A schema in the format of one provider. */
export interface DialectSchema {
  readonly schema: JsonSchema
  /** Added to the description of the tool. */
  readonly words: readonly string[]
  /** Whether strict mode works; undefined if the provider has none. */
  readonly strict?: boolean
}

/** Throws a `RefusedSchemaError` if the provider can't use the tool. */
export type DialectWriter = (canonical: CanonicalSchema, losses: Losses) => DialectSchema

/** A keyword that a provider doesn't support. */
export interface Loss {
  readonly keyword: string
  /** The keyword that replaces it in part, or `description`. */
  readonly instead?: string
}

const MAX_WORDS = 120

const SAYABLE = new Set([
  'const',
  'default',
  'enum',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'format',
  'maximum',
  'maxItems',
  'maxLength',
  'maxProperties',
  'minimum',
  'minItems',
  'minLength',
  'minProperties',
  'multipleOf',
  'pattern',
  'uniqueItems',
])

export class Losses {
  readonly list: Loss[] = []

  add(keyword: string, instead?: string): void {
    this.list.push(instead === undefined ? { keyword } : { keyword, instead })
  }

  /** Records a dropped keyword, and returns words for the description if they are short. */
  say(keyword: string, value: unknown): string[] {
    if (saysNothing(keyword, value)) return []
    const text = SAYABLE.has(keyword) ? JSON.stringify(value) : undefined
    const words = text !== undefined && text.length <= MAX_WORDS ? [`${keyword}: ${text}`] : []
    this.add(keyword, words.length > 0 ? 'description' : undefined)
    return words
  }
}

/** Whether the keyword allows every value. */
function saysNothing(keyword: string, value: unknown): boolean {
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties' || keyword === 'items') {
    return value === true || JSON.stringify(value) === '{}'
  }
  if (keyword === 'uniqueItems') return value === false
  if (keyword === 'minItems' || keyword === 'minLength' || keyword === 'minProperties') return value === 0
  return keyword === 'propertyNames' && (value === true || /^\{("type":"string")?\}$/.test(JSON.stringify(value)))
}

/** For example `The port. (minimum: 1, maximum: 65535)`. */
export function withWords(description: unknown, words: readonly string[]): string {
  const said = words.length > 0 ? `(${words.join(', ')})` : ''
  return typeof description === 'string' && description !== '' ? `${description} ${said}`.trimEnd() : said
}
