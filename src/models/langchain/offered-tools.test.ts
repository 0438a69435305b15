import { tool } from '@langchain/core/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'
import { ScriptedChatModel } from '../fixtures/scripted-chat-model.ts'
import { generateChat } from '../providers/provider-client.ts'
import { langchainModel } from './langchain-model.ts'
import { offeredTools } from './offered-tools.ts'

const ours = { name: 'ours', description: 'Ours', parameters: { type: 'object' } }
const chained = (schema: object = z.object({ city: z.string() })) =>
  tool(() => 'sunny', { name: 'get_weather', description: 'The weather', schema: schema as never })

describe('tools that are offered as they were registered', () => {
  test('stay the very list where all are ours', () => {
    const tools = [ours]
    expect(offeredTools(tools)).toBe(tools)
  })

  test.each([
    ['Zod 4', z.object({ city: z.string() })],
    ['Zod 3', z3.object({ city: z3.string() })],
    ['JSON Schema', { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }],
  ])('may be of LangChain, with a schema of %s', (_, schema) => {
    const [first, second] = offeredTools([ours, chained(schema)])
    expect(first).toBe(ours)
    expect(second).toMatchObject({
      name: 'get_weather',
      description: 'The weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    })
  })

  test('are seen as one and the same, question by question', () => {
    const one = chained()
    expect(offeredTools([one])[0]).toBe(offeredTools([ours, one])[1])
  })

  test('are refused where their schema is of no use', () => {
    expect(() => offeredTools([chained(z.object({ at: z.date() }))])).toThrow('must be an object schema')
  })

  test('reach the model', async () => {
    const chat = new ScriptedChatModel()
    const messages = [{ role: 'user' as const, content: 'What is the weather in Paris?' }]
    const { tool_calls } = await generateChat(langchainModel(chat), messages, { tools: [chained()] })
    expect(tool_calls).toMatchObject([{ function: { name: 'get_weather' } }])
    expect(chat.asked?.options.tools).toMatchObject([{ name: 'get_weather', schema: { required: ['city'] } }])
  })
})
