import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import type { Kind } from '../../core/kind.ts'
import { silentLog } from '../../core/log.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { ToolExecutor } from '../../core/tool-executor.ts'
import { ToolRegistry } from '../../core/tool-registry.ts'
import { readStream } from '../../testing/read-stream.ts'
import type { Message, Model } from '../model.ts'
import { ModelError } from '../model-error.ts'
import { demoWire } from './demo-wire.ts'

const config = JSON.parse(readFileSync(new URL('../../../toolyard.config.json', import.meta.url), 'utf8'))
const shipped: readonly ToolDefinition[] = config.tools.registry

/** Nothing is run here: parameters are checked, and that the kind does not enter into. */
const mock: Kind = { effect: () => 'read', bind: () => () => () => null }

const wire = await demoWire({ name: 'demo', type: 'demo' }, { log: silentLog, clock: systemClock })
const model: Model = { id: 'demo:rules', stream: (request) => wire.stream('rules', request) }

const user = (content: string): Message => ({ role: 'user', content })
const ask = (content: string, tools: readonly ToolDefinition[] = shipped) =>
  readStream(model, { messages: [user(content)], tools })

/** Asks, and answers the calls with these envelopes. */
async function answer(question: string, ...envelopes: object[]): Promise<string> {
  const { message, calls } = await ask(question)
  const results = calls.map(
    ({ id, function: { name } }, index): Message => ({
      role: 'tool',
      tool_call_id: id,
      name,
      content: JSON.stringify(envelopes[index]),
    }),
  )
  const { text, calls: more } = await readStream(model, {
    messages: [user(question), message, ...results],
    tools: shipped,
  })
  expect(more).toEqual([])
  return text
}

describe('demo:rules', () => {
  test.each([
    ["What's the weather in Paris?", 'get_weather', { location: 'Paris' }],
    [
      'How is the weather in Portland, Oregon in Fahrenheit?',
      'get_weather',
      { location: 'Portland, Oregon', units: 'fahrenheit' },
    ],
    ['Calculate 15% tip on $45', 'calculate', { expression: '45 * 15 / 100' }],
    ['What is 20% of 80?', 'calculate', { expression: '80 * 20 / 100' }],
    ["What's 123 * 456?", 'calculate', { expression: '123 * 456' }],
    ['What is the square root of 144?', 'calculate', { expression: 'sqrt(144)' }],
    ['Search for Python decorators in the docs', 'search_documents', { query: 'Python decorators' }],
    ['Search the docs for deadlines.', 'search_documents', { query: 'deadlines' }],
    ['What do the docs say about retries?', 'search_documents', { query: 'retries' }],
    ['What time is it in Tokyo?', 'datetime', { operation: 'now', timezone: 'Asia/Tokyo' }],
    ['What time is it in New York right now?', 'datetime', { operation: 'now', timezone: 'America/New_York' }],
    ["What's the date today?", 'datetime', { operation: 'now', timezone: 'UTC' }],
    ["How many r's are in strawberry?", 'string', { operation: 'count', text: 'strawberry', search: 'r' }],
    ['Echo hello there', 'echo', { text: 'hello there' }],
  ])('%s is one call of %s', async (question, tool, params) => {
    const { text, calls, finish } = await ask(question)
    expect(calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)])).toEqual([[tool, params]])
    expect([text, finish.reason]).toEqual(['', 'tool_calls'])
    const registry = new ToolRegistry()
    for (const definition of shipped) registry.register(definition)
    const definition = shipped.find(({ name }) => name === tool) as ToolDefinition
    const executor = new ToolExecutor(registry, { kinds: { mock, builtin: mock, internal: mock } })
    expect(await executor.validate(definition, params)).toEqual({ valid: true, errors: [] })
  })

  test('two places are two calls with ids of their own', async () => {
    const { calls } = await ask("What's the weather in Paris and Rome?")
    expect(calls.map((call) => call.function.arguments)).toEqual(['{"location":"Paris"}', '{"location":"Rome"}'])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
  })

  test("What's 2+2? is answered without a call", async () => {
    const { text, calls, finish } = await ask("What's 2+2?")
    expect([text, calls, finish.reason]).toEqual(['2 + 2 is 4.', [], 'stop'])
  })

  test.each([
    [
      "What's the weather in Paris?",
      { temperature: 22, condition: 'sunny', humidity: 65 },
      'In Paris it is sunny, 22 °C, with 65% humidity.',
    ],
    ["What's the weather in Paris?", { condition: 'sunny' }, 'In Paris it is sunny.'],
    ['Calculate 15% tip on $45', { result: 6.75 }, '15% tip on $45 is $6.75.'],
    [
      'Search for Python decorators in the docs',
      { results: [] },
      'I found nothing about "Python decorators" in the documents.',
    ],
    ["What's the weather in Paris?", 'fine', 'The tool get_weather gave "fine".'],
  ])('%s is answered from the result %j', async (question, result, sentence) => {
    expect(await answer(question, { success: true, result })).toBe(sentence)
  })

  test('an answer from documents names their files', async () => {
    const results = [
      { text: 'One budget\nper call.', source: 'life-of-a-call.md' },
      { text: 'A wheel.', source: 'decisions/deadlines.md' },
    ]
    expect(await answer('Search for deadlines', { success: true, result: { results } })).toBe(
      'About "deadlines" I found 2 passage(s), in life-of-a-call.md, decisions/deadlines.md. The best begins: One budget per call.',
    )
  })

  test('a failed call is apologised for, with its error, beside the one that went well', async () => {
    const envelopes = [
      { success: true, result: { condition: 'sunny' } },
      { success: false, error: 'Tool execution timed out after 5000ms', error_code: 'TIMEOUT' },
    ]
    expect(await answer("What's the weather in Paris and Rome?", ...envelopes)).toBe(
      'In Paris it is sunny. Sorry, the tool get_weather failed: Tool execution timed out after 5000ms',
    )
  })

  test('a tool that is not offered is not called, but named', async () => {
    const { text, calls } = await ask("What's the weather in Paris?", [])
    expect(calls).toEqual([])
    expect(text).toContain("'get_weather'")
  })

  test.each(['Write me a poem', 'What time is it in Nowhere?', 'x'.repeat(10_000), ''])(
    'what no rule is for gets told what this is (%#)',
    async (question) => {
      const { text, calls } = await ask(question)
      expect(calls).toEqual([])
      expect(text).toContain('not a language model')
      expect(text).toContain('configure a real model')
    },
  )

  test('text comes word by word, and words are what is counted', async () => {
    const { pieces, finish } = await ask("What's 2+2?")
    expect(pieces).toEqual(['2', ' +', ' 2', ' is', ' 4.'])
    expect(finish.usage).toEqual({ prompt_tokens: 2, completion_tokens: 5, total_tokens: 7 })
  })

  test('max_tokens cuts the answer, and the finish says so', async () => {
    const { text, finish } = await readStream(model, { messages: [user("What's 2+2?")], tools: [], max_tokens: 3 })
    expect([text, finish.reason]).toEqual(['2 + 2', 'length'])
  })

  test('an abort is thrown, before and in the middle of an answer', async () => {
    const reason = new Error('enough')
    const messages = [user('Who are you?')]
    await expect(readStream(model, { messages, tools: [], signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    const controller = new AbortController()
    const reading = async () => {
      for await (const _ of model.stream({ messages, tools: [], signal: controller.signal })) controller.abort(reason)
    }
    await expect(reading()).rejects.toBe(reason)
  })

  test('another model of the provider does not exist', async () => {
    const reading = wire
      .stream('gpt', { messages: [user('Hi')], tools: [] })
      [Symbol.asyncIterator]()
      .next()
    await expect(reading).rejects.toThrow(
      new ModelError("The provider demo has no model 'gpt': its only one is demo:rules."),
    )
    expect(await wire.list?.(AbortSignal.abort())).toMatchObject([{ name: 'rules' }])
  })
})
