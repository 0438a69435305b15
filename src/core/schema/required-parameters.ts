import type { JsonSchema } from '../tool.ts'
import type { RequiredParameter } from '../tool-result.ts'
import { isObject } from './schema-keywords.ts'
import { SchemaReferences } from './schema-references.ts'

/** The parameters that a tool cannot do without: those its schema requires at the top level. */
export function requiredParameters(schema: JsonSchema): RequiredParameter[] {
  const references = new SchemaReferences(schema)
  const root = follow(schema, references)
  const required = Array.isArray(root.required) ? root.required : []
  const properties = isObject(root.properties) ? root.properties : {}
  return [...new Set(required)]
    .filter((name) => typeof name === 'string')
    .map((name) => {
      const written = Object.hasOwn(properties, name) ? properties[name] : undefined
      const property = follow(written, references)
      const description =
        isObject(written) && typeof written.description === 'string' ? written.description : property.description
      return { name, type: typeText(property), description: typeof description === 'string' ? description : '' }
    })
}

/** A schema, or what it refers to where it is only a reference. */
function follow(schema: unknown, references: SchemaReferences): Record<string, unknown> {
  let at = schema
  for (let hops = 0; hops < 16 && isObject(at) && at.$ref !== undefined; hops++) {
    if (at.type !== undefined || at.properties !== undefined) break
    at = references.target(at, at.$ref)
  }
  return isObject(at) ? at : {}
}

function typeText(schema: Record<string, unknown>): string {
  if (typeof schema.type === 'string') return schema.type
  if (Array.isArray(schema.type)) return schema.type.join(' | ')
  const branches = Array.isArray(schema.anyOf) ? schema.anyOf : Array.isArray(schema.oneOf) ? schema.oneOf : []
  const types = new Set(branches.map((branch) => (isObject(branch) ? typeText(branch) : 'any')))
  if (types.size > 0) return types.has('any') ? 'any' : [...types].join(' | ')
  const values = Array.isArray(schema.enum) ? schema.enum : Object.hasOwn(schema, 'const') ? [schema.const] : []
  const kinds = new Set(
    values.map((value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)),
  )
  return kinds.size === 0 ? 'any' : [...kinds].join(' | ')
}
