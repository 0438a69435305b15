import { asText } from '../core/json-depth.ts'
import { type MediaPart, splitMedia } from '../core/tool-result.ts'
import { type AdapterOptions, adapterContext, failureOf, type HandedOut, handOut } from './adapter.ts'
import type { Rest, Toolyard } from './toolyard.ts'

export type { AdapterOptions } from './adapter.ts'

type Source = { data: string; mediaType: string } | { url: string }

type OutputPart =
  | { type: 'text'; text: string }
  | { type: 'image'; image: Source }
  | { type: 'file'; file: { data: string; mediaType: string; filename: string } | { url: string } }

/** A function tool of OpenAI Agents. Structural, because `@openai/agents` is not a dependency. */
export type OpenAiAgentsTool = {
  type: 'function'
  name: string
  description: string
  parameters: {
    type: 'object'
    // biome-ignore lint/suspicious/noExplicitAny: the properties are schemas of any form.
    properties: Record<string, any>
    required: string[]
    additionalProperties: boolean
  }
  strict: false
  invoke(
    runContext: unknown,
    input: string,
    details?: { readonly toolCall?: { readonly callId: string }; readonly signal?: AbortSignal },
  ): Promise<string | OutputPart[]>
  needsApproval(): Promise<boolean>
  isEnabled(): Promise<boolean>
}

/** Converts the tools of an instance, for `new Agent({ tools })` of `@openai/agents`. */
export function toOpenAiAgents<App>(
  // biome-ignore lint/suspicious/noExplicitAny: the tools don't matter.
  yard: Toolyard<any, App, any>,
  ...[options]: Rest<AdapterOptions, App>
): OpenAiAgentsTool[] {
  const given: AdapterOptions | undefined = options
  return handOut(yard.executor, given?.tools, adapterContext(given)).map(agentTool)
}

function agentTool({ definition: { name, description, parameters }, call }: HandedOut): OpenAiAgentsTool {
  return {
    type: 'function',
    name,
    description,
    parameters: {
      type: 'object',
      properties: {},
      required: [],
      additionalProperties: true,
      ...structuredClone(parameters),
    },
    // A strict schema has no optional parameters.
    strict: false,
    async invoke(_, input, { toolCall, signal } = {}) {
      const result = await call(parsed(input), { id: toolCall?.callId, signal })
      if (result.success) return outputOf(result.result)
      const error = failureOf(result)
      if (error.code === 'CANCELLED') throw error
      return error.message
    },
    needsApproval: async () => false,
    isEnabled: async () => true,
  }
}

/** The executor refuses anything that isn't an object, and records it. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}

/** Texts, because the SDK would read some objects as images or files. */
function outputOf(result: unknown): string | OutputPart[] {
  const { value, media } = splitMedia(result)
  const parts = media.flatMap((part) => outputPart(part) ?? [])
  return parts.length === 0 ? asText(value) : [{ type: 'text', text: asText(value) }, ...parts]
}

/** OpenAI takes no audio in results of tools. */
function outputPart({ type, media_type: mediaType, data, url, name = 'file' }: MediaPart): OutputPart | undefined {
  if (type === 'audio') return undefined
  if (type === 'image') return { type, image: data === undefined ? { url } : { data, mediaType } }
  return { type, file: data === undefined ? { url } : { data, mediaType, filename: name } }
}
