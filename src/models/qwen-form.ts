import { createRequire } from 'node:module'
import type { Log } from '../core/log.ts'
import type { JsonSchema } from '../core/tool.ts'

/** A tool in the form that Ollama and Qwen take. */
export interface QwenTool {
  readonly type: 'function'
  readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonSchema }
}

/** A tool of ours (`parameters`) or of LangChain (`schema`: JSON Schema or Zod); whatever else it holds stays behind. */
export interface QwenSource {
  readonly name?: string
  readonly lc_name?: unknown
  readonly description?: string
  readonly parameters?: unknown
  readonly schema?: unknown
}

/** Converts tools into Qwen form; one whose parameters cannot be put as an object schema is left out with a warning. */
export function toQwenForm(tools: readonly QwenSource[] | undefined, log?: Log): QwenTool[] {
  const converted: QwenTool[] = []
  for (const tool of tools ?? []) {
    const name = typeof tool.lc_name === 'string' && tool.lc_name !== '' ? tool.lc_name : (tool.name ?? '')
    const parameters = objectSchema(tool.parameters ?? tool.schema ?? {})
    if (parameters === undefined) {
      log?.warn({ tool: name }, `Tool '${name}' is not offered: its parameters are no JSON Schema of an object`)
      continue
    }
    converted.push({ type: 'function', function: { name, description: tool.description ?? '', parameters } })
  }
  if (converted.length > 0) {
    log?.debug({ tools: converted.length }, `🔧 Converted ${converted.length} tools from LangChain to Qwen format`)
  }
  return converted
}

function objectSchema(schema: unknown): JsonSchema | undefined {
  try {
    const json = jsonSchema(schema)
    if (!isRecord(json)) return undefined
    if (json.type === undefined) return { type: 'object', ...json }
    return json.type === 'object' ? json : undefined
  } catch {
    // A schema that JSON cannot express (Zod dates, transforms without an input form) makes its converter throw.
    return undefined
  }
}

/** Zod schemas have a `type` too, so that they must be told apart before a schema is taken for JSON. */
function jsonSchema(schema: unknown): unknown {
  if (!isRecord(schema)) return undefined
  const standard = schema['~standard']
  if (isRecord(standard) && isRecord(standard.jsonSchema) && typeof standard.jsonSchema.input === 'function') {
    return withoutDialect(standard.jsonSchema.input({ target: 'draft-2020-12' }))
  }
  if ('_zod' in schema || '_def' in schema) return withoutDialect(langchainConverter()(schema))
  return schema
}

// Zod before 4.2 cannot describe itself. Such a schema comes with a LangChain tool, and so does LangChain's converter.
function langchainConverter(): (schema: unknown) => unknown {
  return createRequire(import.meta.url)('@langchain/core/utils/json_schema').toJsonSchema
}

function withoutDialect(schema: unknown): unknown {
  if (!isRecord(schema)) return schema
  const { $schema: _, ...rest } = schema
  return rest
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
