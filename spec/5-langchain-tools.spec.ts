import { DynamicStructuredTool, DynamicTool, tool } from '@langchain/core/tools'
import { langchainModel } from 'toolyard'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'
import { ScriptedChatModel } from '../src/models/fixtures/scripted-chat-model.ts'
import { configured, mock } from './fixtures/tool-manager.ts'

const described = (name: string) => ({ name, description: `The tool ${name}` })
const run = async (params: object) => params

const tools = () => [
  tool(run, { ...described('zod_4'), schema: z.object({ city: z.string() }) }),
  tool(run, { ...described('zod_3'), schema: z3.object({ city: z3.string() }) as never }),
  tool(run as never, { ...described('json'), schema: { type: 'object', properties: {}, required: ['city'] } }),
  new DynamicTool({ ...described('text'), func: async (input) => input }),
  { lc_name: 'shape', description: 'Of that shape only', schema: { type: 'object' }, invoke: run },
]

describe('LangChain tools', () => {
  test('[5.3-1] registers a LangChain tool as it is', async () => {
    const { registry, execute } = await configured([mock('ours')])
    const joining = tools()
    for (const one of joining) registry.register(one)
    for (const [index, one] of joining.entries()) expect(registry.list()[index + 1]).toBe(one)
    expect(registry.get('zod_4')).toBe(joining[0])
    expect(registry.find('shape')).toBe(joining[4])
    for (const name of ['zod_4', 'zod_3', 'json']) {
      expect(await execute(name, { city: 'Oslo' })).toMatchObject({ success: true, result: { city: 'Oslo' } })
      expect(await execute(name, {})).toMatchObject({ error: "Invalid parameters: missing 'city'" })
    }
    expect(await execute('text', { input: 'as it is' })).toMatchObject({ result: 'as it is' })
  })

  test('[5.3-2] invokes a LangChain tool with its arguments as they are', async () => {
    const { registry, execute } = await configured([])
    const calls: unknown[][] = []
    const invoke = async (...call: unknown[]) => void calls.push(call)
    registry.register({ ...described('probe'), schema: { type: 'object' }, invoke })
    await execute('probe', { city: 'Oslo', more: [1, { a: null }] })
    expect(calls).toEqual([
      [{ city: 'Oslo', more: [1, { a: null }] }, expect.objectContaining({ signal: expect.any(AbortSignal) })],
    ])
  })

  test('[5.3-3] registers and runs tools from @langchain/mcp-adapters', async () => {
    const { registry, execute } = await configured([])
    // As the adapters make them of a tool that a server lists.
    const adapted = new DynamicStructuredTool({
      ...described('turn_on'),
      schema: { type: 'object', properties: { deviceName: { type: 'string' } }, required: ['deviceName'] },
      responseFormat: 'content_and_artifact',
      metadata: { annotations: undefined },
      func: async (args: unknown) => [`on: ${JSON.stringify(args)}`, []],
    })
    registry.register(adapted)
    expect(registry.get('turn_on')).toBe(adapted)
    expect(await execute('turn_on', { device_name: 'lamp' })).toMatchObject({ result: 'on: {"deviceName":"lamp"}' })
  })

  test('[5.3-4] serves LangChain chat models as providers', async () => {
    const { manager, registry } = await configured([mock('get_weather', { sky: 'blue' })])
    registry.register(tools()[0] as never)
    const chat = new ScriptedChatModel()
    const bound: unknown[] = []
    chat.bindTools = (given) => {
      bound.push(...given)
      return chat.withConfig({ tools: given })
    }
    const messages = [{ role: 'user' as const, content: 'What is the weather in Paris?' }]
    const answer = await manager.getLoop().answer({ model: langchainModel(chat), messages })
    expect(answer.tool_calls).toMatchObject([{ tool: 'get_weather', result: { success: true } }])
    expect(answer.stop_reason).toBe('stop')
    expect(bound.slice(0, 2)).toMatchObject([
      { name: 'get_weather', description: 'The tool get_weather', schema: { type: 'object' } },
      { name: 'zod_4', schema: { type: 'object', required: ['city'] } },
    ])
  })
})
