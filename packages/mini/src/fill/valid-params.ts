import type { JsonSchema, Params, SchemaCheck } from '../base/port.ts'
import type { Parameter } from './parameter.ts'

/** Parameters that hold against the schema, and those that a person has to be asked for. */
interface ValidParams {
  readonly params: Params
  readonly missing: readonly Parameter[]
  /** Whether they may be sent. */
  readonly valid: boolean
}

/** Removes values that the schema rejects: optional ones are dropped, required ones are asked for. */
export async function validParams(
  check: SchemaCheck,
  schema: JsonSchema,
  parameters: readonly Parameter[],
  found: Params,
): Promise<ValidParams> {
  const params: Record<string, unknown> = { ...found }
  const problems = await check(schema, params)
  for (const name of Object.keys(params)) if (problems.some((path) => concerns(path, name))) delete params[name]
  const missing = parameters.filter(({ name, required }) => required && !Object.hasOwn(params, name))
  const valid = missing.length === 0 && (await check(schema, params)).length === 0
  return { params, missing, valid }
}

/** `a.b[0]` is a problem of `a`. */
const concerns = (path: string, name: string): boolean =>
  path === name || [`${name}.`, `${name}[`, `[${JSON.stringify(name)}]`].some((start) => path.startsWith(start))
