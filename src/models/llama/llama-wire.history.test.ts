import { expect, test } from 'vitest'
import { image } from '../../core/fixtures/media.ts'
import type { Message } from '../model.ts'
import { chatHistory } from './llama-wire.ts'

const tools = [{ name: 'get_weather', description: 'Tells the weather.', parameters: { type: 'object' } }]
const call = (id: string, location: string) => ({
  id,
  type: 'function' as const,
  function: { name: 'get_weather', arguments: JSON.stringify({ location }) },
})
const result = (tool_call_id: string, content: string): Message => ({
  role: 'tool',
  tool_call_id,
  name: 'get_weather',
  content,
})
const messages: Message[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Weather?' },
  { role: 'assistant', content: null, tool_calls: [call('1', 'Paris'), call('2', 'Rome')] },
  result('1', '{"success":true}'),
  result('2', '{"success":false}'),
]

test('held to the grammar, calls are written as replies are, and results come from the user', () => {
  const [system, ...rest] = chatHistory(messages, tools, true)
  expect(system).toMatchObject({
    type: 'system',
    text: expect.stringMatching(/^Be brief\.\n\n.*"name":"get_weather"/s),
  })
  expect(rest).toEqual([
    { type: 'user', text: 'Weather?' },
    {
      type: 'model',
      response: [
        '{"name": "get_weather", "arguments": {"location":"Paris"}}\n{"name": "get_weather", "arguments": {"location":"Rome"}}',
      ],
    },
    { type: 'user', text: 'The result of get_weather: {"success":true}\nThe result of get_weather: {"success":false}' },
    { type: 'model', response: [] },
  ])
})

test('free, calls and results are in the tags that models were trained on', () => {
  const [system, , spoken, results] = chatHistory(messages, tools, false)
  expect(system).toMatchObject({ text: expect.stringContaining('<tools>\n{"name":"get_weather"') })
  expect(spoken).toMatchObject({
    response: [expect.stringMatching(/^<tool_call>\n\{"name": "get_weather".*<\/tool_call>$/s)],
  })
  expect(results).toMatchObject({
    text: expect.stringMatching(/^<tool_response>\n\{"success":true\}\n<\/tool_response>\n/),
  })
})

test('without tools nothing is said about them', () => {
  expect(chatHistory([{ role: 'user', content: 'Hi' }], [], true)).toEqual([
    { type: 'user', text: 'Hi' },
    { type: 'model', response: [] },
  ])
})

test('media are short texts', () => {
  const [asked] = chatHistory([{ role: 'user', content: [{ type: 'text', text: 'Look.' }, image] }], [], true)
  expect(asked).toEqual({ type: 'user', text: 'Look.\n[image image/png, 67 bytes]' })
})
