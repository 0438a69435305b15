import type { Model, ModelResponse } from '@openai/agents'
import type { LoopContender } from '../loop-contender.ts'
import { ANSWER, QUESTION, scriptedAnswers, toolNames } from '../loop-script.ts'
import type { LoopShape } from '../loop-shape.ts'
import { DESCRIPTION, NAME } from '../weather.ts'

/** The model that answers from memory, behind the interface that OpenAI Agents has for models. */
function agentsModel(shape: LoopShape, usage: () => ModelResponse['usage']): Model {
  const next = scriptedAnswers<ModelResponse['output']>(
    shape,
    (calls) =>
      calls.map(({ id, json }) => ({
        type: 'function_call',
        callId: id,
        name: NAME,
        arguments: json,
        status: 'completed',
      })),
    [
      {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: ANSWER }],
      },
    ],
  )
  return {
    getResponse: async () => ({ usage: usage(), output: next() }),
    getStreamedResponse: () => {
      throw new Error('The bench asks for whole answers only.')
    },
  }
}

export const openaiAgents: LoopContender = {
  id: 'loop-openai-agents',
  name: 'OpenAI Agents',
  call: 'runner.run(agent, question)',
  package: '@openai/agents',
  async prepare(shape, handler) {
    const { Agent, Runner, Usage, tool } = await import('@openai/agents')
    const { weatherZod } = await import('../contenders/weather-zod.ts')
    // Strict mode wants every property required; optional ones are written as nullable.
    const parameters = () => weatherZod().extend({ units: weatherZod().shape.units.unwrap().nullable() })
    const tools = toolNames(shape.tools).map((name) =>
      tool({ name, description: DESCRIPTION, parameters: parameters(), execute: handler }),
    )
    const spent = { requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 }
    const model = agentsModel(shape, () => new Usage(spent))
    const agent = new Agent({ name: 'bench', instructions: 'Answer.', model, tools })
    const runner = new Runner({ tracingDisabled: true })
    return async () => {
      const { finalOutput } = await runner.run(agent, QUESTION, { maxTurns: shape.turns + 2 })
      return String(finalOutput)
    }
  },
}
