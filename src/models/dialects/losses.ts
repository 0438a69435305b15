/** A part of a schema that a provider does not take. */
export interface Loss {
  /** Where it stood: `properties.a.items`; empty for the root. */
  readonly path: string
  readonly keyword: string
  /** The keyword that says as much of it as can be said; `description` where it is said in words. */
  readonly instead?: string
}

/** Values longer than this would drown the description. */
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

/** What is lost of one schema on its way to a provider. */
export class Losses {
  readonly list: Loss[] = []

  add(path: string, keyword: string, instead?: string): void {
    this.list.push(instead === undefined ? { path, keyword } : { path, keyword, instead })
  }

  /** Notes a keyword that goes; gives the words that say the same, where they are short. */
  say(path: string, keyword: string, value: unknown): string[] {
    if (saysNothing(keyword, value)) return []
    const text = SAYABLE.has(keyword) ? JSON.stringify(value) : undefined
    const words = text !== undefined && text.length <= MAX_WORDS ? [`${keyword}: ${text}`] : []
    this.add(path, keyword, words.length > 0 ? 'description' : undefined)
    return words
  }
}

/** `additionalProperties: {}` and the like: any value is right. */
function saysNothing(keyword: string, value: unknown): boolean {
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties' || keyword === 'items') {
    return value === true || JSON.stringify(value) === '{}'
  }
  if (keyword === 'uniqueItems') return value === false
  if (keyword === 'minItems' || keyword === 'minLength' || keyword === 'minProperties') return value === 0
  return keyword === 'propertyNames' && (value === true || /^\{("type":"string")?\}$/.test(JSON.stringify(value)))
}

/** A description with the words for what is lost: `The port. (minimum: 1, maximum: 65535)`. */
export function withWords(description: unknown, words: readonly string[]): string {
  const said = words.length > 0 ? `(${words.join(', ')})` : ''
  return typeof description === 'string' && description !== '' ? `${description} ${said}`.trimEnd() : said
}
