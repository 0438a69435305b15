import { foreignText } from '../json/json-depth.ts'
import { UNUSUAL_NAMES } from '../snapshot.ts'
import { isPlain } from './json-schema-of.ts'
import { quoted } from './problem-words.ts'
import { refuseEndless, type SchemaCost, schemaCost, schemaGraph } from './schema-graph.ts'
import { APPLICATORS, isObject, type Shape, seemsLinear } from './schema-keywords.ts'
import { type Documents, RefusedSchemaError, SchemaReferences } from './schema-references.ts'

/** The largest of 822 tools in use has 15 KB, 21 levels and 208 nodes. */
export const SCHEMA_BOUNDS = { characters: 65_536, depth: 32, nodes: 2000 } as const

const CHANGES = 'changes when it is serialized as JSON'

/** Collects the properties of a schema in one walk, and enforces the bounds. */
class GuardWalk {
  readonly references: string[] = []
  hasDefaults = false
  /** Ajv would be wrong, or a pattern needs backtracking. */
  exact = false
  unevaluated = false
  /** The properties whose names callers may send only if a schema has them. */
  readonly unusual = new Set<string>()
  /** Rules that read a whole text (without patterns), and rules that read a whole array. */
  texts = 0
  uniques = 0
  /** The cost of `enum` and `const` comparisons, in equivalent schemas. */
  compared = 0
  conditional = false
  nodes = 0
  #characters = 0

  schema(schema: unknown, depth: number): void {
    if (!isObject(schema)) {
      this.#data(schema, depth)
      return
    }
    this.#enter(depth, schema)
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
      this.#schemas(applicator.shape, key, value, depth)
    }
  }

  #schemas(shape: Shape, key: string, value: unknown, depth: number): void {
    if (shape === 'schema' || (shape === 'schema-or-list' && !Array.isArray(value))) {
      this.schema(value, depth + 1)
      return
    }
    const isList = shape === 'list' || shape === 'schema-or-list'
    if (typeof value !== 'object' || value === null || Array.isArray(value) !== isList) {
      this.#data(value, depth + 1)
      return
    }
    this.#enter(depth + 1, value)
    for (const name of Object.keys(value)) {
      if (name === '__proto__') this.exact = true
      if (key === 'properties' && UNUSUAL_NAMES.has(name)) this.unusual.add(name)
      if (key === 'patternProperties' && !seemsLinear(name)) this.exact = true
      this.#count(name.length + 4)
      this.schema((value as Record<string, unknown>)[name], depth + 2)
    }
  }

  #keyword(key: string, value: unknown, depth: number): void {
    switch (key) {
      case '$async':
      case '$vocabulary':
        throw new RefusedSchemaError(`"${key}" is not allowed`)
      case '~standard':
        throw new RefusedSchemaError('contains a schema of another library: convert it to JSON Schema first')
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
    // Measured: comparing a text or number takes 5 to 10 ns, an object entry 50 to 150 ns.
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
        throw new RefusedSchemaError(`contains a ${typeof value}, which is not valid JSON`)
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
      throw new RefusedSchemaError('contains an instance of a class, which is not valid JSON')
    if ('toJSON' in value && typeof value.toJSON === 'function') throw new RefusedSchemaError(CHANGES)
    if (depth > SCHEMA_BOUNDS.depth) throw new RefusedSchemaError(`nested deeper than ${SCHEMA_BOUNDS.depth} levels`)
    if (++this.nodes > SCHEMA_BOUNDS.nodes) throw new RefusedSchemaError(`has more than ${SCHEMA_BOUNDS.nodes} nodes`)
  }

  #count(characters: number): void {
    this.#characters += characters
    if (this.#characters > SCHEMA_BOUNDS.characters)
      throw new RefusedSchemaError(`longer than ${SCHEMA_BOUNDS.characters} characters`)
  }
}

/** The properties of a schema before compilation. */
interface SchemaFacts {
  /** Ajv is correct and fast. Otherwise the exact validator runs in a child process. */
  readonly ordinary: boolean
  /** The maximum number of schemas that check one value, or values compared with it. */
  readonly cost: number
  /** The maximum number of rules that read one character, without patterns. */
  readonly textCost: number
  /** How often one rule may check the same value: more than once only with references. */
  readonly repeats: number
  readonly hasDefaults: boolean
  /** The properties whose names callers may send only if a schema has them. */
  readonly unusual: ReadonlySet<string>
}

const MAX_COST = 10_000

/** Ajv takes seconds to compile larger schemas. */
const MAX_COMPILED_NODES = 500

const META_SCHEMA =
  /^https?:\/\/json-schema\.org\/(?:draft-07\/schema|draft\/2020-12\/(?:schema|meta\/[a-z-]+))(?:#.*)?$/

/** Checks an untrusted schema. Throws a RefusedSchemaError if it can't be used. */
export function guardSchema(schema: unknown, documents?: Documents): SchemaFacts {
  const { walk, total } = refusing(() => {
    const walk = walkThrough(schema)
    if (isObject(schema) && documents?.has(foreignText(schema.$schema))) walk.exact = true
    return { walk, total: costOf(schema, walk, documents) }
  })
  const { cost } = total
  const ordinary =
    !walk.exact && !(walk.unevaluated && walk.conditional) && cost <= MAX_COST && walk.nodes <= MAX_COMPILED_NODES
  const [repeats, height] = walk.references.length === 0 ? [1, 1] : [cost, total.height]
  const textCost = Math.min(cost, walk.texts * repeats) + walk.uniques * repeats * height
  const compared = walk.compared === 0 ? 0 : walk.compared * repeats
  return { ordinary, cost: cost + compared, textCost, repeats, hasDefaults: walk.hasDefaults, unusual: walk.unusual }
}

function walkThrough(schema: unknown): GuardWalk {
  if (!isObject(schema) && typeof schema !== 'boolean') throw new RefusedSchemaError('is not an object')
  const walk = new GuardWalk()
  walk.schema(schema, 1)
  return walk
}

/** A getter or proxy can throw anything. */
function refusing<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    throw error instanceof RefusedSchemaError ? error : new RefusedSchemaError('cannot be read')
  }
}

/** Schemas of MCP servers, and their problems. They don't change. */
const checked = new WeakMap<object, unknown>()

/** Checks a schema now, so that the registry need not: many at once would block the process. */
export function checkAhead(parameters: object): void {
  try {
    guardParameters(parameters)
    checked.set(parameters, undefined)
  } catch (error) {
    checked.set(parameters, error)
  }
}

/** Checks the object itself: a `Map`, a function or a hidden `toJSON` would be another schema once it is JSON. */
export function guardParameters(parameters: unknown): void {
  if (isObject(parameters) && checked.has(parameters)) {
    const problem = checked.get(parameters)
    if (problem !== undefined) throw problem
    return
  }
  const { references, type } = refusing(() => {
    const { references } = walkThrough(parameters)
    return { references, type: Object.getOwnPropertyDescriptor(parameters, 'type') }
  })
  // Without references, the walk finds everything that is wrong. The cost is computed when the schema is compiled.
  if (references.length > 0) guardSchema(parameters)
  if (type?.enumerable !== true || type.value !== 'object') throw new RefusedSchemaError(CHANGES)
}

function costOf(schema: unknown, walk: GuardWalk, documents: Documents | undefined): SchemaCost {
  const references = new SchemaReferences(schema, documents)
  let outside = false
  const root = schemaGraph(schema, references, (reference) => {
    if (META_SCHEMA.test(reference)) outside = true
    else if (reference.startsWith('#')) throw new RefusedSchemaError(`$ref ${quoted(reference)} has no target`)
    else throw new RefusedSchemaError(`$ref ${quoted(reference)} is remote: only references inside the schema work`)
  })
  // A reference may point to a place that isn't a schema otherwise.
  for (const stray of references.strays) walk.schema(stray, 1)
  if (outside || walk.references.some((reference) => !reference.startsWith('#'))) walk.exact = true
  refuseEndless(root)
  return schemaCost(root)
}
