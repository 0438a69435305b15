import { GuardWalk } from './guard-walk.ts'
import { RefusedSchemaError } from './refused-schema-error.ts'
import { type SchemaCost, schemaCost } from './schema-cost.ts'
import { schemaGraph } from './schema-graph.ts'
import { isObject } from './schema-keywords.ts'
import { type Documents, SchemaReferences } from './schema-references.ts'

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
