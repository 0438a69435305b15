import type { LoopContender } from '../loop-contender.ts'
import { QUESTION, toolNames } from '../loop-script.ts'
import { DESCRIPTION } from '../weather.ts'

export const aiSdk: LoopContender = {
  id: 'loop-ai-sdk',
  name: 'AI SDK',
  call: 'generateText({model, tools, prompt})',
  package: 'ai',
  async prepare(shape, handler) {
    const { generateText, isStepCount, tool } = await import('ai')
    const { weatherZod } = await import('../contenders/weather-zod.ts')
    const { aiSdkModel } = await import('./ai-sdk-model.ts')
    const model = aiSdkModel(shape)
    const weather = () => tool({ description: DESCRIPTION, inputSchema: weatherZod(), execute: handler })
    const tools = Object.fromEntries(toolNames(shape.tools).map((name) => [name, weather()]))
    const stopWhen = isStepCount(shape.turns + 2)
    return async () => (await generateText({ model, tools, prompt: QUESTION, stopWhen })).text
  },
}
