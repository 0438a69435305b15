import { asText } from './as-text.ts'
import type { CancelSignal } from './cancellation.ts'
import type { ToolDefinition } from './tool.ts'
import { ToolExecutionError } from './tool-execution-error.ts'
import type { ToolResult } from './tool-result.ts'

/** Runs a tool by its name: the executor's way in, for tools that are handed out with a way to call them. */
export type Invoke = (name: string, params: unknown, signal: CancelSignal | undefined) => Promise<ToolResult>

const openai = ({ name, description, parameters }: ToolDefinition): object => ({
  type: 'function',
  function: { name, description, parameters },
})

const FORMATS: Readonly<Record<string, (tool: ToolDefinition, invoke: Invoke) => object>> = {
  openai,
  ollama: openai,
  gemini: ({ name, description, parameters }) => ({ name, description, parameters }),
  anthropic: ({ name, description, parameters }) => ({ name, description, input_schema: parameters }),
  mcp: ({ name, description, parameters }) => ({ name, description, inputSchema: parameters }),
  langchain: ({ name, description, parameters }, invoke) => ({
    name,
    description,
    schema: parameters,
    /** Gives the result as text; rejects with a `ToolExecutionError` where the call fails. */
    async invoke(args: unknown, options?: { readonly signal?: CancelSignal }): Promise<string> {
      const result = await invoke(name, args, options?.signal)
      if (result.success) return asText(result.result)
      throw new ToolExecutionError(result.error_code, result.error)
    },
  }),
}

/** Tools in the shape that a provider's API takes; what is registered stays as it is. */
export function providerFormat(provider: string, tools: readonly ToolDefinition[], invoke: Invoke): object[] {
  const format = Object.hasOwn(FORMATS, provider) ? FORMATS[provider] : undefined
  if (format === undefined) {
    throw new TypeError(`Unknown provider: ${provider} (known: ${Object.keys(FORMATS).join(', ')})`)
  }
  return tools.map((tool) => format(tool, invoke))
}
