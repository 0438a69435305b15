import type { Reply, ScriptedModel, Turn } from '../../adapter.ts'

/** The part of a provider's result that the AI SDK and Mastra, which has taken over its interface, both read. */
interface ProviderResult {
  readonly content: (
    | { type: 'tool-call'; toolCallId: string; toolName: string; input: string }
    | { type: 'text'; text: string }
  )[]
  readonly finishReason: { unified: 'tool-calls' | 'stop'; raw: string }
  readonly usage: typeof usage
  readonly warnings: []
}

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
}

/** Messages of a prompt, of which only those with results of tools are looked at. */
interface PromptMessage {
  readonly role: string
  readonly content: unknown
}

interface ToolResultPart {
  readonly toolCallId: string
  readonly output: { readonly value?: unknown; readonly reason?: string }
}

/** A scripted model behind the interface that the AI SDK has for providers. */
export function providerModel(script: ScriptedModel, toolName: (name: string) => string = (name) => name) {
  return {
    specificationVersion: 'v4' as const,
    provider: 'conformance',
    modelId: 'scripted',
    supportedUrls: {},
    doGenerate: async ({ prompt }: { prompt: readonly PromptMessage[] }): Promise<ProviderResult> =>
      resultOf(script(repliesIn(prompt)), toolName),
    doStream: async (): Promise<never> => {
      throw new Error('The suite asks for whole answers only.')
    },
  }
}

function repliesIn(prompt: readonly PromptMessage[]): Reply[] {
  const last = prompt.findLastIndex(({ role }) => role !== 'tool')
  const parts = prompt.slice(last + 1).flatMap(({ content }) => content as ToolResultPart[])
  return parts.map(({ toolCallId, output }) => ({ id: toolCallId, text: textOf(output.value ?? output.reason) }))
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

function resultOf(turn: Turn, toolName: (name: string) => string): ProviderResult {
  if ('text' in turn) {
    const content = [{ type: 'text' as const, text: turn.text }]
    return { content, finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] }
  }
  const content = turn.calls.map(({ id, name, arguments: input }) => ({
    type: 'tool-call' as const,
    toolCallId: id,
    toolName: toolName(name),
    input,
  }))
  return { content, finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage, warnings: [] }
}
