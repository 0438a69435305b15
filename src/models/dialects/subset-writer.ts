import { isObject } from '../../core/schema/schema-keywords.ts'
import type { SchemaReferences } from '../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { ANNOTATIONS, foldSchema, lengthOf } from './intersect-schemas.ts'
import { type Losses, withWords } from './losses.ts'
import { choiceWords } from './root-object.ts'

export interface Draught {
  readonly schema: Record<string, unknown>
  /** Removes a keyword and adds it to the description if it is short. */
  drop(keyword: string): void
  /** Records a keyword that another one replaces in part. */
  weaken(keyword: string, instead: string): void
}

/** The subset of JSON Schema that a provider supports. */
export interface SubsetRules {
  readonly keywords: ReadonlySet<string>
  /** Rewrites a schema with the supported keywords. Returns alternatives if it takes several schemas. */
  shape(draught: Draught): readonly JsonSchema[] | undefined
  nullable(schema: JsonSchema): JsonSchema
}

interface Place {
  readonly depth: number
  /** The references that led here, outermost first. */
  readonly targets: readonly unknown[]
}

/** How often a recursive schema is expanded. */
const MAX_ROUNDS = 2
const MAX_DEPTH = 24
/** How many schemas are written: one for so many characters, but a small schema may refer to itself often. */
const CHARACTERS_PER_SCHEMA = 10
const [MIN_SCHEMAS, MAX_SCHEMAS] = [500, 2000]
/** Alternatives are looked at before they are written. */
const LOOKS_PER_SCHEMA = 4

/** Writes schemas for providers that support few keywords and no references. */
export class SubsetWriter {
  readonly #references: SchemaReferences
  readonly #rules: SubsetRules
  readonly #losses: Losses
  readonly #maxSchemas: number
  #schemas = 0
  #looks = 0

  constructor(references: SchemaReferences, rules: SubsetRules, losses: Losses) {
    this.#references = references
    this.#rules = rules
    this.#losses = losses
    const schemas = lengthOf(references.root) / CHARACTERS_PER_SCHEMA
    this.#maxSchemas = Math.min(MAX_SCHEMAS, Math.max(MIN_SCHEMAS, schemas))
  }

  root(schema: JsonSchema): JsonSchema {
    return this.#write(schema, { depth: 0, targets: [] })
  }

  #write(raw: unknown, place: Place): JsonSchema {
    const { depth } = place
    const { schema, targets } = foldSchema(raw, this.#references, (keyword) => this.#losses.add(keyword))
    const rounds = Math.max(0, ...targets.map((target) => place.targets.filter((one) => one === target).length))
    const isTooLarge = ++this.#schemas > this.#maxSchemas || this.#looks > LOOKS_PER_SCHEMA * this.#maxSchemas
    if (isTooLarge || depth > MAX_DEPTH || rounds >= MAX_ROUNDS) {
      this.#losses.add('$ref', 'type')
      return picked(
        schema,
        ['type', 'description'].filter((keyword) => this.#rules.keywords.has(keyword)),
      )
    }
    const inside = targets.length === 0 ? place : { depth, targets: [...place.targets, ...targets] }
    const { anyOf, oneOf, ...own } = schema
    if (oneOf !== undefined) this.#losses.add('oneOf', anyOf === undefined ? 'anyOf' : undefined)
    const choices = (anyOf ?? oneOf) as unknown[] | undefined
    if (choices === undefined) return this.#plain(own, [], inside)
    const requirements = this.#requirements(choices)
    if (requirements === undefined) return this.#choice(own, choices, inside)
    const words = choiceWords(requirements)
    this.#losses.add('required', words.length > 0 ? 'description' : undefined)
    return this.#plain(own, words, inside)
  }

  /** The alternatives, if they differ only in `required`: the description can state that. */
  #requirements(choices: readonly unknown[]): readonly JsonSchema[] | undefined {
    const folded = choices.map((choice) => this.#folded(choice))
    const only = folded.every((choice) =>
      Object.keys(choice).every((key) => key === 'required' || ANNOTATIONS.has(key)),
    )
    return only ? folded : undefined
  }

  /** Copies the other keywords into each alternative, because some providers ignore them beside `anyOf`. */
  #choice(own: JsonSchema, choices: readonly unknown[], place: Place): JsonSchema {
    const annotations = picked(own, [...ANNOTATIONS])
    const rules = Object.fromEntries(Object.entries(own).filter(([key]) => !ANNOTATIONS.has(key)))
    const possible = choices
      .filter((choice) => choice !== false)
      .map((choice) => (Object.keys(rules).length === 0 ? choice : { allOf: [rules, choice] }))
    const others = possible.filter((choice) => !isNull(this.#folded(choice)))
    const takesNull = others.length < possible.length
    if (others.length === 1) {
      const only = this.#write({ ...annotations, allOf: others }, place)
      return takesNull ? this.#rules.nullable(only) : only
    }
    const written = others.map((choice) => this.#write(choice, down(place)))
    if (takesNull) written.push({ type: 'null' })
    const [first = {}] = written
    return this.#supported(annotations, [], place, written.length > 1 ? { anyOf: written } : first)
  }

  #plain(own: JsonSchema, words: string[], place: Place): JsonSchema {
    const schema = { ...own }
    const drop = (keyword: string): void => {
      words.push(...this.#losses.say(keyword, schema[keyword]))
      delete schema[keyword]
    }
    const weaken = (keyword: string, instead: string): void => this.#losses.add(keyword, instead)
    const alternatives = this.#rules.shape({ schema, drop, weaken })
    if (alternatives !== undefined) return this.#choice(picked(schema, [...ANNOTATIONS]), alternatives, place)
    return this.#supported(schema, words, place)
  }

  #supported(schema: JsonSchema, words: string[], place: Place, rest: JsonSchema = {}): JsonSchema {
    const result: Record<string, unknown> = {}
    for (const [keyword, value] of Object.entries(schema)) {
      if (this.#rules.keywords.has(keyword)) result[keyword] = this.#under(keyword, value, down(place))
      else words.push(...this.#losses.say(keyword, value))
    }
    if (words.length > 0) result.description = withWords(result.description, words)
    return { ...result, ...rest }
  }

  #under(keyword: string, value: unknown, place: Place): unknown {
    if (keyword === 'properties') return this.#properties(value as JsonSchema, place)
    if (keyword === 'items') return this.#write(value, place)
    if (keyword === 'prefixItems') {
      return (value as unknown[]).map((schema) => this.#write(schema, down(place)))
    }
    if (keyword !== 'additionalProperties' || typeof value === 'boolean') return value
    return isObject(value) && Object.keys(value).length === 0 ? true : this.#write(value, place)
  }

  #properties(schemas: JsonSchema, place: Place): JsonSchema {
    const entries: [string, JsonSchema][] = []
    for (const [name, schema] of Object.entries(schemas)) {
      if (schema === false) this.#losses.add('properties')
      else entries.push([name, this.#write(schema, place)])
    }
    return Object.fromEntries(entries)
  }

  #folded(raw: unknown): JsonSchema {
    this.#looks++
    return foldSchema(raw, this.#references, () => {}).schema
  }
}

const down = ({ depth, targets }: Place): Place => ({ depth: depth + 1, targets })

function isNull({ type, enum: values }: JsonSchema): boolean {
  return type === 'null' || (Array.isArray(values) && values.length === 1 && values[0] === null)
}

function picked(schema: JsonSchema, keywords: readonly string[]): JsonSchema {
  return Object.fromEntries(keywords.filter((key) => schema[key] !== undefined).map((key) => [key, schema[key]]))
}
