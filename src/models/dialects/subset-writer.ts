import { isObject } from '../../core/schema/schema-keywords.ts'
import type { SchemaReferences } from '../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../core/tool.ts'
import { foldSchema } from './fold-schema.ts'
import { ANNOTATIONS } from './intersect-schemas.ts'
import { type Losses, withWords } from './losses.ts'
import { choiceWords } from './root-object.ts'

/** A schema on its way to a provider that reads few keywords. */
export interface Draught {
  readonly schema: Record<string, unknown>
  /** Takes a keyword away; the description says it, where that is short. */
  drop(keyword: string): void
  /** Notes a keyword that is said less exactly by another. */
  weaken(keyword: string, instead: string): void
}

/** What a provider reads of JSON Schema. */
export interface SubsetRules {
  readonly keywords: ReadonlySet<string>
  /** Says what can be said by the keywords that there are. Gives alternatives where that takes several schemas. */
  shape(draught: Draught): readonly JsonSchema[] | undefined
  /** Lets a schema take null, too. */
  nullable(schema: JsonSchema): JsonSchema
}

/** Where a schema stands, and what it stands inside of. */
interface Place {
  readonly path: string
  readonly depth: number
  /** What references led here, outermost first. */
  readonly targets: readonly unknown[]
}

/** Recursive schemas are written out so many times, one inside the other. */
const MAX_ROUNDS = 2
const MAX_DEPTH = 24
const MAX_SCHEMAS = 2000

/** Writes schemas for a provider that reads few keywords and no references. */
export class SubsetWriter {
  readonly #references: SchemaReferences
  readonly #rules: SubsetRules
  readonly #losses: Losses
  #schemas = 0

  constructor(references: SchemaReferences, rules: SubsetRules, losses: Losses) {
    this.#references = references
    this.#rules = rules
    this.#losses = losses
  }

  /** The whole, written out. */
  root(schema: JsonSchema): JsonSchema {
    return this.#write(schema, { path: '', depth: 0, targets: [] })
  }

  #write(raw: unknown, place: Place): JsonSchema {
    const { path, depth } = place
    const { schema, targets } = foldSchema(raw, this.#references, (keyword) => this.#losses.add(path, keyword))
    const rounds = Math.max(0, ...targets.map((target) => place.targets.filter((one) => one === target).length))
    if (++this.#schemas > MAX_SCHEMAS || depth > MAX_DEPTH || rounds >= MAX_ROUNDS) {
      this.#losses.add(path, '$ref', 'type')
      return picked(
        schema,
        ['type', 'description'].filter((keyword) => this.#rules.keywords.has(keyword)),
      )
    }
    const inside = targets.length === 0 ? place : { path, depth, targets: [...place.targets, ...targets] }
    const { anyOf, oneOf, ...own } = schema
    if (oneOf !== undefined) this.#losses.add(path, 'oneOf', anyOf === undefined ? 'anyOf' : undefined)
    const choices = (anyOf ?? oneOf) as unknown[] | undefined
    if (choices === undefined) return this.#plain(own, [], inside)
    const requirements = this.#requirements(choices)
    if (requirements === undefined) return this.#choice(own, choices, inside)
    const words = choiceWords(requirements)
    this.#losses.add(path, 'required', words.length > 0 ? 'description' : undefined)
    return this.#plain(own, words, inside)
  }

  /** The alternatives, where they differ in what they require and in nothing else: words do for that. */
  #requirements(choices: readonly unknown[]): readonly JsonSchema[] | undefined {
    const folded = choices.map((choice) => this.#folded(choice))
    const only = folded.every((choice) =>
      Object.keys(choice).every((key) => key === 'required' || ANNOTATIONS.has(key)),
    )
    return only ? folded : undefined
  }

  /** Alternatives, each with what stands beside them, so that nothing but annotations does. */
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
    const written = others.map((choice, at) => this.#write(choice, down(place, `anyOf.${at}`)))
    if (takesNull) written.push({ type: 'null' })
    const [first = {}] = written
    return this.#kept(annotations, [], place, written.length > 1 ? { anyOf: written } : first)
  }

  #plain(own: JsonSchema, words: string[], place: Place): JsonSchema {
    const schema = { ...own }
    const drop = (keyword: string): void => {
      words.push(...this.#losses.say(place.path, keyword, schema[keyword]))
      delete schema[keyword]
    }
    const weaken = (keyword: string, instead: string): void => this.#losses.add(place.path, keyword, instead)
    const alternatives = this.#rules.shape({ schema, drop, weaken })
    if (alternatives !== undefined) return this.#choice(picked(schema, [...ANNOTATIONS]), alternatives, place)
    return this.#kept(schema, words, place)
  }

  /** The keywords that the provider reads, and words for the others. */
  #kept(schema: JsonSchema, words: string[], place: Place, rest: JsonSchema = {}): JsonSchema {
    const result: Record<string, unknown> = {}
    for (const [keyword, value] of Object.entries(schema)) {
      if (this.#rules.keywords.has(keyword)) result[keyword] = this.#under(keyword, value, down(place, keyword))
      else words.push(...this.#losses.say(place.path, keyword, value))
    }
    if (words.length > 0) result.description = withWords(result.description, words)
    return { ...result, ...rest }
  }

  #under(keyword: string, value: unknown, place: Place): unknown {
    if (keyword === 'properties') return this.#properties(value as JsonSchema, place)
    if (keyword === 'items') return this.#write(value, place)
    if (keyword === 'prefixItems') {
      return (value as unknown[]).map((schema, at) => this.#write(schema, down(place, String(at))))
    }
    if (keyword !== 'additionalProperties' || typeof value === 'boolean') return value
    return isObject(value) && Object.keys(value).length === 0 ? true : this.#write(value, place)
  }

  #properties(schemas: JsonSchema, place: Place): JsonSchema {
    const entries: [string, JsonSchema][] = []
    for (const [name, schema] of Object.entries(schemas)) {
      const inside = { ...down(place, name), depth: place.depth }
      if (schema === false) this.#losses.add(inside.path, 'properties')
      else entries.push([name, this.#write(schema, inside)])
    }
    return Object.fromEntries(entries)
  }

  #folded(raw: unknown): JsonSchema {
    return foldSchema(raw, this.#references, () => {}).schema
  }
}

function down({ path, depth, targets }: Place, name: string): Place {
  return { path: path === '' ? name : `${path}.${name}`, depth: depth + 1, targets }
}

function isNull({ type, enum: values }: JsonSchema): boolean {
  return type === 'null' || (Array.isArray(values) && values.length === 1 && values[0] === null)
}

function picked(schema: JsonSchema, keywords: readonly string[]): JsonSchema {
  return Object.fromEntries(keywords.filter((key) => schema[key] !== undefined).map((key) => [key, schema[key]]))
}
