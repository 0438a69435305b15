import type { JsonSchema } from '../core/tool.ts'

const STEP = /\["(?:[^"\\]|\\.)*"\]|\[\d+\]|[^.[\]]+/g

/** The last step of a path such as `responses[0].tools.enabld`, and the keys that a schema has in its place. */
export function knownKeys(path: string, schema: JsonSchema): { readonly key: string; readonly keys: string[] } {
  const steps = path.match(STEP) ?? []
  const key = steps.pop() ?? path
  const parent = steps.reduce<JsonSchema | undefined>((at, step) => {
    if (/^\[\d/.test(step)) return part(at, 'items')
    return part(part(at, 'properties'), step) ?? part(at, 'additionalProperties')
  }, schema)
  return { key, keys: Object.keys(part(parent, 'properties') ?? {}) }
}

function part(schema: JsonSchema | undefined, name: string): JsonSchema | undefined {
  const value = schema !== undefined && Object.hasOwn(schema, name) ? schema[name] : undefined
  return typeof value === 'object' && value !== null ? (value as JsonSchema) : undefined
}
