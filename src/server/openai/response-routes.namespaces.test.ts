import type { OpenAI } from 'openai'
import { expect, test } from 'vitest'
import { openScriptedServer } from '../fixtures/open-scripted-server.ts'
import { clientOf, MODEL } from './fixtures/openai-client.ts'

type Asked = OpenAI.Responses.ResponseCreateParamsNonStreaming

const DOOR: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'open_door',
  strict: false,
  parameters: { type: 'object', properties: { door: { type: 'string' } } },
}
const ask = (client: OpenAI, rest: Partial<Asked>) =>
  client.responses.create({ model: MODEL, input: 'Go', ...rest }) as Promise<OpenAI.Responses.Response>
const stream = (client: OpenAI, rest: Partial<Asked>) =>
  client.responses.create({ model: MODEL, input: 'Go', ...rest, stream: true })

test('flattens namespaces, and hands calls back under the name of the tool with its namespace', async () => {
  const long = 'x'.repeat(60)
  const house = { type: 'namespace', name: 'house', description: 'At home', tools: [DOOR, { ...DOOR, name: long }] }
  const mcp = { type: 'namespace', name: 'mcp__car__', tools: [DOOR, { type: 'custom', name: 'paint' }] }
  const tools = [DOOR, house, mcp, { type: 'web_search' }] as unknown as (typeof DOOR)[]
  const at = (name: string, id: string) => ({ name, arguments: { door: 'front' }, id })
  const calls = [at('mcp__car__open_door', 'm1'), at('house__open_door', 'm2'), at('open_door', 'm3')]
  const { url, model } = await openScriptedServer([{ calls }, 'Open.', { calls: [at('house__open_door', 'm1')] }])
  const client = clientOf(url)
  const first = await ask(client, { tools, store: false })
  const offered = model.requests[0]?.tools.map(({ name }) => name) ?? []
  expect(offered.filter((name) => name.includes('open_door'))).toEqual([
    ...['open_door', 'house__open_door', 'mcp__car__open_door'],
  ])
  expect(offered.find((name) => name.includes('xxx'))).toMatch(/^house__x{48}_[0-9a-f]{8}$/)
  expect(first).toMatchObject({
    output: [
      { type: 'function_call', name: 'open_door', namespace: 'mcp__car__', arguments: '{"door":"front"}' },
      { type: 'function_call', name: 'open_door', namespace: 'house' },
      { type: 'function_call', name: 'open_door' },
    ],
    toolyard: {
      warnings: [
        'tools[2].tools[1] "paint" was left out: tools of type "custom" are not supported, only functions',
        'tools[3] was left out: tools of type "web_search" are not supported, only functions',
      ],
    },
  })
  expect(first.output[2]).not.toHaveProperty('namespace')
  const outputs = first.output.map((call) => {
    if (call.type !== 'function_call') throw new Error('No call')
    return { type: 'function_call_output', call_id: call.call_id, output: 'opened' } as const
  })
  const items = [
    { role: 'user', content: 'Go' } as const,
    ...(first.output as OpenAI.Responses.ResponseFunctionToolCall[]),
  ]
  // A client may also return calls that this server doesn't know.
  const foreign = {
    type: 'function_call',
    call_id: 'f1',
    name: 'open_door',
    namespace: 'house',
    arguments: '{}',
  } as const
  const before = [foreign, { type: 'function_call_output', call_id: 'f1', output: 'opened' } as const]
  await ask(client, { tools, store: false, input: [...before, ...items, ...outputs] })
  const named = model.requests[1]?.messages.flatMap((message) =>
    'tool_calls' in message ? (message.tool_calls ?? []) : [],
  )
  expect(named?.map((call) => call.function.name)).toEqual([
    ...['house__open_door', 'mcp__car__open_door', 'house__open_door', 'open_door'],
  ])
  const tool_choice = { type: 'function', name: 'open_door', namespace: 'house' } as const
  const events = await Array.fromAsync(await stream(client, { tools, tool_choice }))
  expect(model.requests[2]?.tools.map(({ name }) => name)).toEqual(['house__open_door'])
  const item = { type: 'function_call', name: 'open_door', namespace: 'house' }
  expect(events.find(({ type }) => type === 'response.output_item.added')).toMatchObject({ item })
  expect(events.find(({ type }) => type === 'response.function_call_arguments.done')).toMatchObject({
    name: 'open_door',
  })
})
