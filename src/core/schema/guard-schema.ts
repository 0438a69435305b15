import { isPlain } from './json-schema-of.ts'
import { seemsLinear } from './linear-pattern.ts'
import { type SchemaCost, schemaCost } from './schema-cost.ts'
import { schemaGraph } from './schema-graph.ts'
import { APPLICATORS, type Applicator, isObject, type Place } from './schema-keywords.ts'
import { type Documents, RefusedSchemaError, SchemaReferences } from './schema-references.ts'

/** The bounds of a schema. The largest of 822 tools in use: 15 KB, 21 levels, 208 nodes. */
export const SCHEMA_BOUNDS = { characters: 65_536, depth: 32, nodes: 2000 } as const

/** One walk over a schema: its bounds, what must not be in it, and what it asks of a validator. */
class GuardWalk {
  readonly references: string[] = []
  hasDefaults = false
  /** Something that Ajv gets wrong, or that only backtracking can match. */
  exact = false
  unevaluated = false
  /** Rules that read the whole of a text, patterns aside, and rules that read the whole of an array. */
  texts = 0
  uniques = 0
  /** What a value is compared with, by `enum` and `const`, in schemas that would cost as much. */
  compared = 0
  conditional = false
  /** What the last schema walked costs on the value it judges, and at worst on a part of that value. */
  here = 0
  below = 0
  nodes = 0
  #characters = 0

  schema(schema: unknown, depth: number): void {
    if (!isObject(schema)) {
      this.#data(schema, depth)
      this.here = 1
      this.below = 0
      return
    }
    this.#enter(depth, schema)
    let here = 1
    let below = 0
    let named = 0
    let parts = 0
    let items = 0
    for (const key of Object.keys(schema)) {
      const value = schema[key]
      this.#count(key.length + 4)
      const applicator = APPLICATORS.get(key)
      if (applicator === undefined) {
        this.#keyword(key, value, depth)
        continue
      }
      if (key === 'if' || key === 'not') this.conditional = true
      else if (key === 'unevaluatedProperties') this.unevaluated = true
      else if (key === 'unevaluatedItems') this.exact = true
      this.#schemas(applicator, key, value, depth)
      if (applicator.place === 'here') {
        here += this.here
        below += this.below
      } else if (applicator.place === 'named') named = this.below
      else if (applicator.place === 'property') parts += this.here
      else if (applicator.place === 'item') items += this.here
    }
    this.here = here
    this.below = below + Math.max(named + parts, items)
  }

  /** Leaves what the schemas under a keyword cost together, or at worst where they judge different values. */
  #schemas({ shape, place }: Applicator, key: string, value: unknown, depth: number): void {
    if (shape === 'schema' || (shape === 'schema-or-list' && !Array.isArray(value))) {
      this.schema(value, depth + 1)
      this.#fold(place)
      return
    }
    if (
      typeof value !== 'object' ||
      value === null ||
      Array.isArray(value) !== (shape === 'list' || shape === 'schema-or-list')
    ) {
      this.#data(value, depth + 1)
      this.here = this.below = 0
      return
    }
    this.#enter(depth + 1, value)
    let here = 0
    let below = 0
    for (const name of Object.keys(value)) {
      if (name === '__proto__') this.exact = true
      if (key === 'patternProperties' && !seemsLinear(name)) this.exact = true
      this.#count(name.length + 4)
      this.schema((value as Record<string, unknown>)[name], depth + 2)
      this.#fold(place)
      here += this.here
      below = place === 'here' ? below + this.below : Math.max(below, this.below)
    }
    this.here = here
    this.below = below
  }

  /** For schemas that judge parts of the value, `here` becomes the worst of part and parts of the part. */
  #fold(place: Place): void {
    if (place === 'here') return
    const worst = Math.max(this.here, this.below)
    this.here = worst
    this.below = worst
  }

  #keyword(key: string, value: unknown, depth: number): void {
    switch (key) {
      case '$async':
      case '$vocabulary':
        throw new RefusedSchemaError(`"${key}" is not allowed`)
      case '~standard':
        throw new RefusedSchemaError('holds a schema of another library: convert it to JSON Schema first')
      case '$ref':
      case '$dynamicRef':
        if (typeof value === 'string') this.references.push(value)
        if (key === '$dynamicRef') this.exact = true
        break
      case '$dynamicAnchor':
      case '$recursiveRef':
        this.exact = true
        break
      case '$id':
        if (depth > 1 && typeof value === 'string') this.exact = true
        break
      case 'enum':
        if (Array.isArray(value) && value.length === 0) this.exact = true
        break
      case 'pattern':
        if (typeof value === 'string' && !seemsLinear(value)) this.exact = true
        break
      case 'format':
      case 'minLength':
      case 'maxLength':
        this.texts++
        break
      case 'uniqueItems':
        if (value === true) this.uniques++
        break
      case 'default':
        if (value !== undefined) this.hasDefaults = true
    }
    const { nodes } = this
    const characters = this.#characters
    this.#data(value, depth + 1)
    if (key !== 'enum' && key !== 'const') return
    // Measured: a text or number costs 5 to 10 ns, an entry of an object 50 to 150.
    const plain = this.nodes - nodes <= 1 && Array.isArray(value)
    this.compared += (this.#characters - characters) / (plain ? 32 : 8)
  }

  #data(value: unknown, depth: number): void {
    switch (typeof value) {
      case 'string':
        this.#count(value.length + 3)
        return
      case 'object':
        break
      case 'function':
      case 'bigint':
      case 'symbol':
        throw new RefusedSchemaError(`holds a ${typeof value}, which JSON does not have`)
      default:
        this.#count(8)
        return
    }
    if (value === null) return
    this.#enter(depth, value)
    if (Array.isArray(value)) {
      for (let at = 0; at < value.length; at++) this.#data(value[at], depth + 1)
      return
    }
    for (const key of Object.keys(value)) {
      this.#count(key.length + 4)
      this.#data((value as Record<string, unknown>)[key], depth + 1)
    }
  }

  #enter(depth: number, value: object): void {
    if (!Array.isArray(value) && !isPlain(value))
      throw new RefusedSchemaError('holds an instance of a class, which JSON does not have')
    if (depth > SCHEMA_BOUNDS.depth) throw new RefusedSchemaError(`nested deeper than ${SCHEMA_BOUNDS.depth} levels`)
    if (++this.nodes > SCHEMA_BOUNDS.nodes) throw new RefusedSchemaError(`has more than ${SCHEMA_BOUNDS.nodes} nodes`)
  }

  #count(characters: number): void {
    this.#characters += characters
    if (this.#characters > SCHEMA_BOUNDS.characters)
      throw new RefusedSchemaError(`longer than ${SCHEMA_BOUNDS.characters} characters`)
  }
}

/** What registration must know of a schema before it is compiled. */
export interface SchemaFacts {
  /** Ajv gives the right answer, and soon; else the exact validator judges, in a process of its own. */
  readonly ordinary: boolean
  /** At most so many schemas judge one value of the parameters, or values are compared with it. */
  readonly cost: number
  /** At most so many rules read one character of the parameters, patterns aside. */
  readonly textCost: number
  /** At most so often does one rule judge one value: more than once only where references repeat it. */
  readonly repeats: number
  readonly hasDefaults: boolean
}

/** A schema that asks more than this of one value is not judged in the main process. */
const MAX_COST = 10_000

/** Ajv takes seconds to compile the largest schemas; those up to this size, a fraction of one. */
const MAX_COMPILED_NODES = 500

const META_SCHEMA =
  /^https?:\/\/json-schema\.org\/(?:draft-07\/schema|draft\/2020-12\/(?:schema|meta\/[a-z-]+))(?:#.*)?$/

/**
 * Walks an untrusted schema once. Throws an Error that says what is wrong where it must not be used. References lead to
 * nothing but the schema itself; `documents` are for the test suite of the drafts.
 */
export function guardSchema(schema: unknown, documents?: Documents): SchemaFacts {
  let total: SchemaCost
  let walk: GuardWalk
  try {
    if (!isObject(schema) && typeof schema !== 'boolean') throw new RefusedSchemaError('is not an object')
    walk = new GuardWalk()
    walk.schema(schema, 1)
    if (isObject(schema) && documents?.has(String(schema.$schema))) walk.exact = true
    total =
      walk.references.length === 0
        ? { cost: Math.max(walk.here, walk.below), height: 1 }
        : costOfReferences(schema, walk, documents)
  } catch (error) {
    // A getter or a proxy can throw anything.
    throw error instanceof RefusedSchemaError ? error : new RefusedSchemaError('cannot be read')
  }
  const { cost, height } = total
  const ordinary =
    !walk.exact && !(walk.unevaluated && walk.conditional) && cost <= MAX_COST && walk.nodes <= MAX_COMPILED_NODES
  const repeats = walk.references.length === 0 ? 1 : cost
  const textCost = Math.min(cost, walk.texts * repeats) + walk.uniques * repeats * height
  const compared = walk.compared === 0 ? 0 : walk.compared * repeats
  return { ordinary, cost: cost + compared, textCost, repeats, hasDefaults: walk.hasDefaults }
}

function costOfReferences(schema: unknown, walk: GuardWalk, documents: Documents | undefined): SchemaCost {
  const references = new SchemaReferences(schema, documents)
  let outside = false
  const root = schemaGraph(schema, references, (reference) => {
    if (META_SCHEMA.test(reference)) outside = true
    else if (reference.startsWith('#')) throw new RefusedSchemaError(`$ref ${quoted(reference)} leads nowhere`)
    else throw new RefusedSchemaError(`$ref ${quoted(reference)} is remote: only references inside the schema work`)
  })
  // A reference may point at what is no schema where it stands: it becomes one.
  for (const stray of references.strays) walk.schema(stray, 1)
  if (outside || walk.references.some((reference) => !reference.startsWith('#'))) walk.exact = true
  return schemaCost(root)
}

function quoted(reference: string): string {
  return JSON.stringify(reference.length > 80 ? `${reference.slice(0, 79)}…` : reference)
}
