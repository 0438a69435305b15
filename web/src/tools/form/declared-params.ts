import type { JsonSchema } from '../../../../src/core/tool.ts'

/** The parameters that the schema names. */
export function declaredParams(schema: JsonSchema, params: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const properties = Object(schema.properties) as object
  return Object.fromEntries(Object.entries(params).filter(([name]) => Object.hasOwn(properties, name)))
}
