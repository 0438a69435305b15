import { asText } from '../core/json/json-depth.ts'
import { loadOptional } from '../core/optional-package.ts'
import { type MediaPart, splitMedia } from '../core/tool-result.ts'
import { type AdapterOptions, adapterContext, failureOf, type HandedOut, handOut } from './adapter.ts'
import type { Rest } from './options.ts'
import type { Toolyard } from './toolyard.ts'

export type { AdapterOptions } from './adapter.ts'

type Source = { data: string; mediaType: string } | { url: string }

type OutputPart =
  | { type: 'text'; text: string }
  | { type: 'image'; image: Source }
  | { type: 'file'; file: { data: string; mediaType: string; filename: string } | { url: string } }

/** The part of a function tool of OpenAI Agents that `new Agent({ tools })` needs. */
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
  strict: boolean
  invoke(runContext: unknown, input: string, details?: Details): Promise<string | OutputPart[]>
  needsApproval(): Promise<boolean>
  isEnabled(): Promise<boolean>
}

interface Details {
  readonly toolCall?: { readonly callId: string }
  readonly signal?: AbortSignal
}

/** Converts the tools of an instance, for `new Agent({ tools })`. Needs the package `@openai/agents`. */
export async function toOpenAiAgents<App>(
  // biome-ignore lint/suspicious/noExplicitAny: the tools don't matter.
  yard: Toolyard<any, App, any>,
  ...[options]: Rest<AdapterOptions, App>
): Promise<OpenAiAgentsTool[]> {
  const { tool } = await loadOptional('toOpenAiAgents', ['@openai/agents'], () => import('@openai/agents'))
  const given: AdapterOptions | undefined = options
  const tools = handOut(yard?.executor, given?.tools, adapterContext('toOpenAiAgents', given))
  // Made by the package: of other objects it asks for approval when their arguments aren't JSON.
  return tools.map((one) => tool(agentTool(one)) as object as OpenAiAgentsTool)
}

function agentTool({ definition: { name, description, parameters }, call }: HandedOut) {
  return {
    name,
    description,
    parameters: {
      type: 'object' as const,
      properties: {},
      required: [],
      additionalProperties: true as const,
      ...structuredClone(parameters),
    },
    // A strict schema has no optional parameters.
    strict: false as const,
    async execute(input: unknown, _context?: unknown, { toolCall, signal }: Details = {}) {
      const result = await call(input, { id: toolCall?.callId, signal })
      if (result.success) return outputOf(result.result)
      signal?.throwIfAborted()
      return failureOf(result).message
    },
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
