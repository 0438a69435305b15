import { guardSchema } from '../../core/schema/guard-schema.ts'
import { shortened } from '../../core/schema/problem-words.ts'
import { RefusedSchemaError } from '../../core/schema/schema-references.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { OfferedTool } from '../../models/model.ts'
import { invalid } from './openai-error.ts'

const NAME = /^[a-zA-Z0-9_-]{1,64}$/
const NO_PARAMETERS: JsonSchema = { type: 'object', properties: {} }

/** The tools that a client brings along. */
export function readTools(tools: readonly unknown[]): OfferedTool[] {
  return tools.map((tool, index) => readTool(tool, `tools[${index}]`))
}

/** Whether tools are offered at all. A model cannot be made to call one: what asks for that is refused. */
export function readToolChoice(choice: unknown): 'auto' | 'none' {
  if (choice === undefined || choice === null || choice === 'auto') return 'auto'
  if (choice === 'none') return 'none'
  const given = typeof choice === 'string' ? `"${shortened(choice)}"` : 'by name'
  throw invalid(
    'tool_choice',
    `tool_choice ${given} is not supported, since a model cannot be made to call a tool here: use "auto" or "none"`,
    'unsupported_value',
  )
}

function readTool(tool: unknown, place: string): OfferedTool {
  const { type, function: given } = Object(tool) as { type?: unknown; function?: unknown }
  if (type !== 'function') throw invalid(place, `${place}.type must be "function": no other tools are supported`)
  const { name, description: told, parameters } = Object(given) as Partial<Record<keyof OfferedTool, unknown>>
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw invalid(`${place}.function.name`, `${place}.function.name must be 1 to 64 letters, digits, _ or -`)
  }
  const description = told ?? ''
  if (typeof description !== 'string') {
    throw invalid(`${place}.function.description`, `${place}.function.description must be a text`)
  }
  return { name, description, parameters: readSchema(parameters, `${place}.function.parameters`) }
}

function readSchema(parameters: unknown, place: string): JsonSchema {
  if (parameters === undefined || parameters === null) return NO_PARAMETERS
  if (typeof parameters !== 'object' || Array.isArray(parameters)) {
    throw invalid(place, `${place} must be a JSON Schema of an object`)
  }
  const schema: JsonSchema = { type: 'object', ...parameters }
  if (schema.type !== 'object') throw invalid(`${place}.type`, `${place}.type must be "object"`)
  try {
    guardSchema(schema)
    return schema
  } catch (error) {
    if (error instanceof RefusedSchemaError) throw invalid(place, `${place} cannot be used: ${error.message}`)
    throw error
  }
}
