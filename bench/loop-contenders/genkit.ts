import type { GenerateResponseData } from 'genkit'
import type { LoopContender } from '../loop-contender.ts'
import { ANSWER, QUESTION, scriptedAnswers, toolNames } from '../loop-script.ts'
import { DESCRIPTION, NAME } from '../weather.ts'

export const genkit: LoopContender = {
  id: 'loop-genkit',
  name: 'Genkit',
  call: 'ai.generate({model, tools, prompt})',
  package: 'genkit',
  async prepare(shape, handler) {
    const { genkit, z } = await import('genkit')
    const { logger } = await import('genkit/logging')
    logger.setLogLevel('error')
    const ai = genkit({})
    const inputSchema = () => z.object({ location: z.string(), units: z.enum(['celsius', 'fahrenheit']).optional() })
    const tools = toolNames(shape.tools).map((name) =>
      ai.defineTool({ name, description: DESCRIPTION, inputSchema: inputSchema() }, handler),
    )
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
    const next = scriptedAnswers<GenerateResponseData>(
      shape,
      (calls) => ({
        message: {
          role: 'model',
          content: calls.map(({ id, params }) => ({ toolRequest: { name: NAME, ref: id, input: params } })),
        },
        finishReason: 'stop',
        usage,
      }),
      { message: { role: 'model', content: [{ text: ANSWER }] }, finishReason: 'stop', usage },
    )
    const supports = { multiturn: true, tools: true, systemRole: true }
    const model = ai.defineModel({ name: 'bench/memory', supports }, async () => next())
    return async () => {
      const { text } = await ai.generate({ model, tools, prompt: QUESTION, maxTurns: shape.turns + 2 })
      return text
    }
  },
}
