import type { LoopContender } from '../loop-contender.ts'
import { QUESTION, toolNames } from '../loop-script.ts'
import { DESCRIPTION } from '../weather.ts'

export const langchain: LoopContender = {
  id: 'loop-langchain',
  name: 'LangChain',
  call: 'createAgent({model, tools}).invoke()',
  package: 'langchain',
  async prepare(shape, handler) {
    const { createAgent, tool } = await import('langchain')
    const { weatherZod } = await import('../contenders/weather-zod.ts')
    const { LangChainModel } = await import('./langchain-model.ts')
    const tools = toolNames(shape.tools).map((name) =>
      tool(handler, { name, description: DESCRIPTION, schema: weatherZod() }),
    )
    const agent = createAgent({ model: new LangChainModel(shape), tools })
    const config = { recursionLimit: 10 * (shape.turns + 2) }
    return async () => {
      const { messages } = await agent.invoke({ messages: [{ role: 'user', content: QUESTION }] }, config)
      return messages.at(-1)?.text ?? ''
    }
  },
}
