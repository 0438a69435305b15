import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Message, ToolCall } from '../src/index.ts'
import { eventModel } from './event-model.ts'
import type { PreparedRun } from './loop-contender.ts'
import { QUESTION, toolNames } from './loop-script.ts'
import type { LoopShape } from './loop-shape.ts'
import { DESCRIPTION, SCHEMA, type WeatherHandler } from './weather.ts'

/**
 * The loop that one writes when there is no framework: read the turn, check what it asks for, run it, say what came of it.
 * Every ratio of the loop is to this. It reads the same stream of events as Toolyard does.
 */
export function handWrittenLoop(shape: LoopShape, handler: WeatherHandler): PreparedRun {
  const model = eventModel(shape)
  const check = new Ajv2020().compile(SCHEMA)
  const tools = toolNames(shape.tools).map((name) => ({ name, description: DESCRIPTION, parameters: SCHEMA }))
  const byName = new Map(tools.map(({ name }) => [name, { check, handler }]))

  const runCall = async ({ id, function: called }: ToolCall): Promise<Message> => {
    const tool = byName.get(called.name)
    const params: unknown = JSON.parse(called.arguments)
    const result = tool?.check(params) ? await tool.handler() : { error: 'There is no such tool, or not so.' }
    return { role: 'tool', tool_call_id: id, name: called.name, content: JSON.stringify(result) }
  }

  return async () => {
    const messages: Message[] = [{ role: 'user', content: QUESTION }]
    for (;;) {
      let text = ''
      const calls: ToolCall[] = []
      for await (const event of model.stream({ messages, tools })) {
        if (event.type === 'text-delta') text += event.text
        else if (event.type === 'tool-call-end') calls.push(event.call)
      }
      if (calls.length === 0) return text
      messages.push({ role: 'assistant', content: null, tool_calls: calls })
      messages.push(...(await Promise.all(calls.map(runCall))))
    }
  }
}
