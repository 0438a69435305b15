import type { LoopContender } from '../loop-contender.ts'
import { QUESTION, toolNames } from '../loop-script.ts'
import { DESCRIPTION } from '../weather.ts'

export const mastra: LoopContender = {
  id: 'loop-mastra',
  name: 'Mastra',
  call: 'agent.generate(question)',
  package: '@mastra/core',
  async prepare(shape, handler) {
    const { Agent } = await import('@mastra/core/agent')
    const { createTool } = await import('@mastra/core/tools')
    const { weatherZod } = await import('../contenders/weather-zod.ts')
    const { aiSdkModel } = await import('./ai-sdk-model.ts')
    const weather = (id: string) =>
      createTool({ id, description: DESCRIPTION, inputSchema: weatherZod(), execute: handler })
    const tools = Object.fromEntries(toolNames(shape.tools).map((name) => [name, weather(name)]))
    const agent = new Agent({ id: 'bench', name: 'bench', instructions: 'Answer.', model: aiSdkModel(shape), tools })
    return async () => (await agent.generate(QUESTION, { maxSteps: shape.turns + 2 })).text
  },
}
