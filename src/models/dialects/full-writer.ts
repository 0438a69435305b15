import { foreignText } from '../../core/json/json-depth.ts'
import { APPLICATORS, isObject, type Shape } from '../../core/schema/schema-keywords.ts'
import type { SchemaReferences } from '../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { modern } from './canonical-schema.ts'
import { type Losses, withWords } from './losses.ts'

/** Deviations of a provider from JSON Schema 2020-12. */
export interface FullRules {
  refuses(keyword: string, value: unknown): boolean
  /** Whether arrays need `items`. */
  readonly itemsRequired: boolean
}

/** Keywords that may have a boolean schema. */
const BOOLEAN = new Set(['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems', 'items'])

const DYNAMIC = new Set(['$dynamicRef', '$recursiveRef'])

/** Writes schemas for providers that support JSON Schema 2020-12, with referenced schemas under `$defs`. */
export class FullWriter {
  readonly #references: SchemaReferences
  readonly #rules: FullRules
  readonly #losses: Losses
  readonly #names = new Map<unknown, string>()
  readonly #definitions = new Map<string, JsonSchema>()

  constructor(references: SchemaReferences, rules: FullRules, losses: Losses) {
    this.#references = references
    this.#rules = rules
    this.#losses = losses
  }

  root(schema: JsonSchema): JsonSchema {
    const result = this.#write(schema)
    return this.#definitions.size === 0 ? result : { ...result, $defs: Object.fromEntries(this.#definitions) }
  }

  #write(raw: unknown): JsonSchema {
    const result: Record<string, unknown> = {}
    const words: string[] = []
    for (const [keyword, value] of Object.entries(modern(raw))) {
      if (keyword === '$defs' || keyword === 'definitions') continue
      if (keyword === '$ref') this.#refer(raw, value, result)
      else if (DYNAMIC.has(keyword) || isEmpty(keyword, value) || this.#rules.refuses(keyword, value)) {
        words.push(...this.#losses.say(keyword, value))
      } else {
        const shape = APPLICATORS.get(keyword)?.shape
        result[keyword] = shape === undefined ? value : this.#under(shape, keyword, value)
      }
    }
    if (words.length > 0) result.description = withWords(result.description, words)
    if (this.#rules.itemsRequired && [result.type].flat().includes('array') && result.items === undefined) {
      result.items = {}
    }
    return result
  }

  #under(shape: Shape, keyword: string, value: unknown): unknown {
    if (Array.isArray(value)) return value.map((schema) => this.#write(schema))
    if (shape === 'schema' || shape === 'schema-or-list') {
      return typeof value === 'boolean' && BOOLEAN.has(keyword) ? value : this.#write(value)
    }
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, this.#write(schema)]))
  }

  #refer(raw: unknown, reference: unknown, result: Record<string, unknown>): void {
    const target = this.#references.target(raw, reference)
    if (target === undefined) {
      this.#losses.add('$ref')
      return
    }
    let name = this.#names.get(target)
    if (name === undefined) {
      name = this.#freeName(foreignText(reference))
      // Named first, because it may refer to itself.
      this.#names.set(target, name)
      this.#definitions.set(name, {})
      this.#definitions.set(name, this.#write(target))
    }
    result.$ref = `#/$defs/${name}`
  }

  #freeName(reference: string): string {
    const last = reference.slice(reference.lastIndexOf('/') + 1).replaceAll(/[^A-Za-z0-9_-]/g, '') || 'root'
    let name = last
    for (let count = 2; this.#definitions.has(name); count++) name = `${last}_${count}`
    return name
  }
}

/** Generated schemas sometimes have empty enums, which providers reject. */
const isEmpty = (keyword: string, value: unknown): boolean =>
  keyword === 'enum' && Array.isArray(value) && value.length === 0
