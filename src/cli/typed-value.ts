import type { JsonSchema } from '../core/tool.ts'

const TYPES = new Set(['string', 'integer', 'number', 'boolean', 'null', 'array', 'object'])

/**
 * The value of a `key=value` pair. A shell knows only text, so the parameter's own schema decides: where it takes text,
 * or says nothing, the value stays text as typed; where it takes something else, the value is read as JSON if it is
 * any. What does not fit is left to validation, which says so.
 */
export function typedValue(text: string, schema: JsonSchema | undefined): unknown {
  if (schema === undefined) return text
  const choices = choicesOf(schema)
  const chosen = choices.find((choice) => choice === text || JSON.stringify(choice) === text)
  if (chosen !== undefined) return chosen
  const wanted = typesOf(schema, 0)
  if (wanted.size === 0 || wanted.has('string')) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The schema of one parameter, where the tool's schema names it. */
export function parameterSchema(parameters: JsonSchema, name: string): JsonSchema | undefined {
  const { properties } = parameters
  if (!isSchema(properties) || !Object.hasOwn(properties, name)) return undefined
  const schema = properties[name]
  return isSchema(schema) ? schema : undefined
}

/** The values that a schema lets one choose from. */
export function choicesOf(schema: JsonSchema): readonly unknown[] {
  if (Array.isArray(schema.enum)) return schema.enum
  if ('const' in schema) return [schema.const]
  return schema.type === 'boolean' ? [true, false] : []
}

function typesOf(schema: JsonSchema, depth: number): Set<string> {
  const declared = [schema.type].flat().filter((type): type is string => typeof type === 'string' && TYPES.has(type))
  if (declared.length > 0 || depth > 2) return new Set(declared)
  const members = [schema.anyOf, schema.oneOf].flatMap((list) => (Array.isArray(list) ? list : [])).filter(isSchema)
  return new Set(members.flatMap((member) => [...typesOf(member, depth + 1)]))
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
