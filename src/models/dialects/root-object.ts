import { isObject } from '../../core/schema/schema-keywords.ts'
import { RefusedSchemaError } from '../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { CanonicalSchema } from './canonical-schema.ts'
import { foldSchema } from './fold-schema.ts'
import { both, typesOf } from './intersect-schemas.ts'
import type { Losses } from './losses.ts'

/** Alternatives that need more words than this are not put into words. */
const MAX_WORDS = 200

const MOVED = ['$ref', 'allOf', 'anyOf', 'oneOf']

/** The root of a schema, as every provider wants it. */
export interface RootObject {
  /** An object, without references and alternatives of its own; the schemas under it stay as they are. */
  readonly schema: JsonSchema
  /** For the description of the tool. */
  readonly words: readonly string[]
}

/**
 * Brings the root of a schema into the form that no provider refuses: one object with its properties. The properties of
 * alternatives stand side by side, and those are required that all of them require.
 */
export function rootObject({ root, references }: CanonicalSchema, losses: Losses): RootObject {
  const lost = (keyword: string): void => losses.add('', keyword)
  const words: string[] = []
  const seen = new Set<unknown>()
  const hoist = (raw: unknown): JsonSchema => {
    const { anyOf, oneOf, ...own } = foldSchema(raw, references, lost).schema
    let result: JsonSchema = own
    for (const [keyword, list] of Object.entries({ anyOf, oneOf })) {
      if (!Array.isArray(list)) continue
      // A branch that comes round again has nothing to add.
      const fresh = list.filter((branch) => !seen.has(branch))
      for (const branch of fresh) seen.add(branch)
      if (fresh.length === 0) continue
      const branches = fresh.map(hoist).filter(isObjectSchema)
      if (branches.length === 0) throw new RefusedSchemaError('describes no object')
      losses.add('', keyword, 'properties')
      words.push(...choiceWords(branches))
      result = united(result, branches)
    }
    return result
  }
  const schema = hoist(root)
  if (!isObjectSchema(schema)) throw new RefusedSchemaError(`describes ${JSON.stringify(schema.type)}, not an object`)
  const { type, enum: values, unevaluatedProperties: unevaluated, ...rest } = schema
  if (values !== undefined) losses.add('', 'enum')
  // Which properties count as evaluated hangs on where they stood.
  const moved = isObject(root) && MOVED.some((keyword) => keyword in root)
  if (unevaluated !== undefined && moved) losses.add('', 'unevaluatedProperties')
  const others = unevaluated === undefined || moved ? {} : { unevaluatedProperties: unevaluated }
  return { schema: { type: 'object', ...rest, ...others }, words }
}

/** Says which sets of parameters the alternatives require, where that tells them apart. */
export function choiceWords(branches: readonly JsonSchema[]): string[] {
  const sets = new Set(branches.map((branch) => ((branch.required as string[] | undefined) ?? []).join(' + ')))
  const text = `required: ${[...sets].join(' or ')}`
  return sets.size > 1 && !sets.has('') && text.length <= MAX_WORDS ? [text] : []
}

function isObjectSchema(schema: JsonSchema): boolean {
  return schema.type === undefined || typesOf(schema).includes('object')
}

function united(base: JsonSchema, branches: readonly JsonSchema[]): JsonSchema {
  const choices = new Map<string, unknown[]>()
  for (const { properties } of branches) {
    for (const [name, schema] of Object.entries(properties ?? {})) {
      const known = choices.get(name) ?? []
      if (!known.some((one) => JSON.stringify(one) === JSON.stringify(schema))) known.push(schema)
      choices.set(name, known)
    }
  }
  const properties = new Map(Object.entries(base.properties ?? {}))
  for (const [name, schemas] of choices) {
    const choice = schemas.length === 1 ? schemas[0] : { anyOf: schemas }
    properties.set(name, properties.has(name) ? both(properties.get(name), choice) : choice)
  }
  const [first = [], ...others] = branches.map(({ required }) => (required as string[] | undefined) ?? [])
  const required = first.filter((name) => others.every((names) => names.includes(name)))
  const closed = branches.every(({ additionalProperties }) => additionalProperties === false)
  return {
    ...base,
    ...(closed && { additionalProperties: false }),
    properties: Object.fromEntries(properties),
    required: [...new Set([...((base.required as string[] | undefined) ?? []), ...required])],
  }
}
