import { ANSWER, scriptedAnswers } from '../loop-script.ts'
import type { LoopShape } from '../loop-shape.ts'
import { NAME } from '../weather.ts'

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
}

/** As much of a provider's result as is used: the AI SDK and Mastra each have a version of the whole. */
interface Result {
  readonly content: ({ type: 'tool-call'; toolCallId: string; toolName: string; input: string } | TextPart)[]
  readonly finishReason: { unified: 'tool-calls' | 'stop'; raw: string }
  readonly usage: typeof usage
  readonly warnings: []
}

interface TextPart {
  readonly type: 'text'
  readonly text: string
}

/** The model that answers from memory, behind the AI SDK's interface for providers. */
export function aiSdkModel(shape: LoopShape) {
  const next = scriptedAnswers<Result>(
    shape,
    (calls) => ({
      content: calls.map(({ id, json }) => ({ type: 'tool-call', toolCallId: id, toolName: NAME, input: json })),
      finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
      usage,
      warnings: [],
    }),
    {
      content: [{ type: 'text', text: ANSWER }],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage,
      warnings: [],
    },
  )
  return {
    specificationVersion: 'v4' as const,
    provider: 'bench',
    modelId: 'memory',
    supportedUrls: {},
    doGenerate: async () => next(),
    doStream: async (): Promise<never> => {
      throw new Error('The bench asks for whole answers only.')
    },
  }
}
