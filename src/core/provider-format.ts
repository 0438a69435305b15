import type { ToolDefinition } from './tool.ts'

const openai = ({ name, description, parameters }: ToolDefinition): object => ({
  type: 'function',
  function: { name, description, parameters },
})

const FORMATS: Readonly<Record<string, (tool: ToolDefinition) => object>> = {
  openai,
  ollama: openai,
  gemini: ({ name, description, parameters }) => ({ name, description, parameters }),
  anthropic: ({ name, description, parameters }) => ({ name, description, input_schema: parameters }),
  mcp: ({ name, description, parameters }) => ({ name, description, inputSchema: parameters }),
}

/** Tools in the shape that a provider's API takes; what is registered stays as it is. */
export function providerFormat(provider: string, tools: readonly ToolDefinition[]): object[] {
  const format = Object.hasOwn(FORMATS, provider) ? FORMATS[provider] : undefined
  if (format === undefined) {
    throw new TypeError(`Unknown provider: ${provider} (known: ${Object.keys(FORMATS).join(', ')})`)
  }
  return tools.map(format)
}
