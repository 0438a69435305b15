import { isObject } from '../../core/schema/schema-keywords.ts'
import { RefusedSchemaError } from '../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { CanonicalSchema } from './canonical-schema.ts'
import { both, foldSchema, typesOf } from './intersect-schemas.ts'
import type { Losses } from './losses.ts'

const MAX_WORDS = 200

const MOVED = ['$ref', 'allOf', 'anyOf', 'oneOf']

interface RootObject {
  /** An object without references or alternatives; nested schemas stay as they are. */
  readonly schema: JsonSchema
  readonly words: readonly string[]
}

/**
 * Converts the root to the form that all providers accept: one object. Properties of alternatives are merged; a
 * property is required if all alternatives require it.
 */
export function rootObject({ root, references }: CanonicalSchema, losses: Losses): RootObject {
  const lost = (keyword: string): void => losses.add(keyword)
  const words: string[] = []
  const seen = new Set<unknown>()
  const hoist = (raw: unknown): JsonSchema => {
    const { anyOf, oneOf, ...own } = foldSchema(raw, references, lost).schema
    let result: JsonSchema = own
    for (const [keyword, list] of Object.entries({ anyOf, oneOf })) {
      if (!Array.isArray(list)) continue
      // A recursive branch adds nothing.
      const fresh = list.filter((branch) => !seen.has(branch))
      for (const branch of fresh) seen.add(branch)
      if (fresh.length === 0) continue
      const branches = fresh.map(hoist).filter(isObjectSchema)
      if (branches.length === 0) throw new RefusedSchemaError('describes no object')
      losses.add(keyword, 'properties')
      words.push(...choiceWords(branches))
      result = united(result, branches)
    }
    return result
  }
  const schema = hoist(root)
  if (!isObjectSchema(schema)) throw new RefusedSchemaError(`describes ${JSON.stringify(schema.type)}, not an object`)
  const { type, enum: values, unevaluatedProperties: unevaluated, ...rest } = schema
  if (values !== undefined) losses.add('enum')
  // Which properties are evaluated depends on where they were.
  const moved = isObject(root) && MOVED.some((keyword) => keyword in root)
  if (unevaluated !== undefined && moved) losses.add('unevaluatedProperties')
  const others = unevaluated === undefined || moved ? {} : { unevaluatedProperties: unevaluated }
  return { schema: { type: 'object', ...rest, ...others }, words }
}

/** Describes the sets of required parameters if they differ. */
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
  const [first = new Set<string>(), ...others] = branches.map(
    ({ required }) => new Set(required as string[] | undefined),
  )
  const required = [...first].filter((name) => others.every((names) => names.has(name)))
  const closed = branches.every(({ additionalProperties }) => additionalProperties === false)
  return {
    ...base,
    ...(closed && { additionalProperties: false }),
    properties: Object.fromEntries(properties),
    required: [...new Set([...((base.required as string[] | undefined) ?? []), ...required])],
  }
}

/**
 * Removes parameters whose names the provider rejects, and throws if one is required. Renamed parameters would need a
 * translation in every call.
 */
export function fitParameterNames(root: JsonSchema, pattern: RegExp, losses: Losses): JsonSchema {
  const entries = Object.entries((root.properties ?? {}) as JsonSchema)
  const unfit = new Set(entries.map(([name]) => name).filter((name) => !pattern.test(name)))
  if (unfit.size === 0) return root
  const required = new Set(root.required as string[] | undefined)
  for (const name of unfit) {
    if (required.has(name)) {
      throw new RefusedSchemaError(`requires the parameter ${JSON.stringify(name)}, a name that the provider refuses`)
    }
    losses.add('properties')
  }
  return { ...root, properties: Object.fromEntries(entries.filter(([name]) => !unfit.has(name))) }
}
