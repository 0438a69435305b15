import type { Message, ToolLoop } from '../../src/index.ts'
import type { LoopContender } from '../loop-contender.ts'
import { QUESTION, toolNames } from '../loop-script.ts'
import type { LoopShape } from '../loop-shape.ts'
import { SCHEMA, type WeatherHandler } from '../weather.ts'

async function prepareLoop(shape: LoopShape, handler: WeatherHandler) {
  const { toolyard, weatherTool } = await import('../toolyard.ts')
  const { eventModel } = await import('../event-model.ts')
  const tools = toolNames(shape.tools).map((name) => weatherTool({ name, parameters: structuredClone(SCHEMA) }))
  const manager = await toolyard(tools, { weather: handler })
  const model = eventModel(shape)
  const ask = () => {
    const messages: Message[] = [{ role: 'user', content: QUESTION }]
    return { model, messages, max_iterations: shape.turns + 1 }
  }
  return { loop: manager.getLoop(), ask }
}

export const toolyard: LoopContender = {
  id: 'loop-toolyard',
  name: 'Toolyard',
  call: 'loop.answer({model, messages})',
  async prepare(shape, handler) {
    const { loop, ask } = await prepareLoop(shape, handler)
    return async () => (await loop.answer(ask())).content
  },
}

export const toolyardTold: LoopContender = {
  id: 'loop-toolyard-told',
  name: 'Toolyard, streaming events',
  call: 'for await (… of loop.run({model, messages}))',
  async prepare(shape, handler) {
    const { loop, ask } = await prepareLoop(shape, handler)
    return () => lastWord(loop.run(ask()))
  },
}

async function lastWord(events: ReturnType<ToolLoop['run']>): Promise<string> {
  let content = ''
  for await (const event of events) if (event.type === 'answer') content = event.answer.content
  return content
}
