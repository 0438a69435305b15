import type { Log } from '../core/log.ts'
import { jsonSchemaOf } from '../core/schema/json-schema-of.ts'
import type { JsonSchema } from '../core/tool.ts'
import { convertZod } from './langchain/convert-zod.ts'

/** A tool in the form that Ollama and Qwen take. */
export interface QwenTool {
  readonly type: 'function'
  readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonSchema }
}

/** A tool of ours (`parameters`) or of LangChain (`schema`: JSON Schema or Zod); whatever else it holds stays behind. */
export interface QwenSource {
  readonly name?: string | undefined
  readonly lc_name?: unknown
  readonly description?: string | undefined
  readonly parameters?: unknown
  readonly schema?: unknown
}

/** Converts tools into Qwen form; one whose parameters cannot be put as an object schema is left out with a warning. */
export function toQwenForm(tools: readonly QwenSource[] | undefined, log?: Log): QwenTool[] {
  const converted: QwenTool[] = []
  for (const tool of tools ?? []) {
    const name = typeof tool.lc_name === 'string' && tool.lc_name !== '' ? tool.lc_name : (tool.name ?? '')
    const parameters = jsonSchemaOf(tool.parameters ?? tool.schema ?? {}, convertZod)
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
