import { compileSchema } from '../../../core/schema/compiled-schema.ts'
import { isObject } from '../../../core/schema/schema-keywords.ts'
import { SchemaReferences } from '../../../core/schema/schema-references.ts'
import type { JsonSchema, Params } from '../../../core/tool.ts'
import { mergedSchema } from './merged-schema.ts'
import { maySend, NONE, type Sampling, sampleValue } from './sample-value.ts'

/** Parameters that a tool takes. */
export interface SampledParams {
  readonly params: Params
  /** One that must be there and that nobody can guess: no default, no list of values. */
  readonly needed: string | undefined
}

/** Beside what is required, so many optional ones are said. */
const OPTIONAL = [2, 1, 0]
const VARIANTS = 8
const MOST_MISSING = 10

/** Parameters for a tool that its schema accepts; undefined where none were found. Throws where there is no schema. */
export function sampleParams(schema: JsonSchema): SampledParams | undefined {
  const { check, explain } = compileSchema(schema)
  if (check === undefined) return undefined
  const references = new SchemaReferences(schema)
  for (const optional of OPTIONAL) {
    for (let variant = 0; variant < VARIANTS; variant++) {
      const root = mergedSchema(schema, references, variant)
      if (root === undefined) continue
      const names = namesOf(root, optional)
      // Some are required only because of others.
      for (let more = 0; more < MOST_MISSING; more++) {
        const params = paramsOf(root, names, { references, variant })
        if (check(params)) return { params, needed: neededOf(root, params, references, check) }
        const missing = explain(params).find(({ rule, path }) => /equired$/.test(rule) && !names.includes(path))
        if (missing === undefined || /[.[]/.test(missing.path) || !maySend(missing.path)) break
        names.push(missing.path)
      }
    }
  }
  return undefined
}

function namesOf({ properties, required }: JsonSchema, optional: number): string[] {
  const must = ((Array.isArray(required) ? required : []) as string[]).filter(maySend)
  const may = Object.keys(isObject(properties) ? properties : {}).filter(
    (name) => maySend(name) && !must.includes(name),
  )
  return [...must, ...may.slice(0, optional)]
}

function paramsOf(root: JsonSchema, names: readonly string[], how: Omit<Sampling, 'position'>): Params {
  const properties = isObject(root.properties) ? root.properties : {}
  const entries = names.map((name, position) => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : root.additionalProperties
    return [name, sampleValue(schema, name, { ...how, position }, 1)] as const
  })
  return Object.fromEntries(entries.filter(([, value]) => value !== NONE))
}

function neededOf(
  { properties, required }: JsonSchema,
  params: Params,
  references: SchemaReferences,
  check: (params: unknown) => boolean,
): string | undefined {
  const must = (Array.isArray(required) ? required : []) as string[]
  const fit = must.filter((name) => {
    const schema = isObject(properties) ? mergedSchema(properties[name], references, 0) : undefined
    const { [name]: _left, ...others } = params
    return schema !== undefined && !('default' in schema) && !('const' in schema) && !check(others)
  })
  const free = fit.find((name) => {
    const { enum: list, type } = mergedSchema((properties as JsonSchema)[name], references, 0) ?? {}
    return list === undefined && type !== 'boolean'
  })
  return free ?? fit[0]
}
