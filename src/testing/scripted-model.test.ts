import { describe, expect, test } from 'vitest'
import type { Message } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import { ManualClock } from './manual-clock.ts'
import { modelContract } from './model-contract.ts'
import { scriptedAnswer } from './model-script.ts'
import { readStream } from './read-stream.ts'
import { type GivenTurn, scripted } from './scripted-model.ts'

const messages: Message[] = [{ role: 'user', content: 'Hello?' }]
const question = { messages, tools: [] }

describe('scripted()', () => {
  test('a text comes word by word, white space and all', async () => {
    const { pieces, finish } = await readStream(scripted(' It is  sunny.\n'), question)
    expect(pieces).toEqual([' It', ' is', '  sunny.', '\n'])
    expect(finish).toEqual({ type: 'finish', reason: 'stop' })
  })

  test('calls come in pieces, with ids of their own, after the text', async () => {
    const calls = [
      { name: 'get_weather', arguments: { location: 'Zürich 🌤' } },
      { name: 'get_time' },
      { name: 'echo', arguments: '{broken', id: 'mine', metadata: { signature: 'x' } },
    ]
    const { text, calls: seen, events, finish } = await readStream(scripted({ text: 'Let me see.', calls }), question)
    expect([text, finish.reason]).toEqual(['Let me see.', 'tool_calls'])
    expect(seen).toEqual([
      { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"location":"Zürich 🌤"}' } },
      { id: 'call_2', type: 'function', function: { name: 'get_time', arguments: '{}' } },
      { id: 'mine', type: 'function', function: { name: 'echo', arguments: '{broken' }, metadata: { signature: 'x' } },
    ])
    expect(events.filter((event) => event.type === 'tool-call-delta' && event.id === 'call_1')).toHaveLength(2)
  })

  test('arguments are cut in two between characters', async () => {
    const { events } = await readStream(scripted({ calls: [{ name: 'echo', arguments: '🌤🌤🌤' }] }), question)
    const pieces = events.flatMap((event) => (event.type === 'tool-call-delta' ? [event.text] : []))
    expect(pieces).toEqual(['🌤🌤', '🌤'])
  })

  test('reason, usage and metadata are as given', async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
    const { finish } = await readStream(scripted({ text: 'It', reason: 'length', usage, metadata: { a: 1 } }), question)
    expect(finish).toEqual({ type: 'finish', reason: 'length', usage, metadata: { a: 1 } })
  })

  test('an error is thrown at once, or after what was said', async () => {
    const error = new ModelError('Overloaded.', { retryable: true })
    await expect(readStream(scripted(error), question)).rejects.toBe(error)
    const heard: string[] = []
    const reading = async () => {
      for await (const event of scripted({ text: 'It is', error }).stream(question)) heard.push(event.type)
    }
    await expect(reading()).rejects.toBe(error)
    expect(heard).toEqual(['text-delta', 'text-delta'])
  })

  test('a turn can be a function of the request', async () => {
    const model = scripted(async ({ messages }) => `You said ${messages[0]?.content}`)
    expect((await readStream(model, question)).text).toBe('You said Hello?')
  })

  test('a delay passes on the given clock, and an abort ends it', async () => {
    const clock = new ManualClock()
    const model = scripted({ delayMs: 5_000, clock, text: 'Late.' }, { delayMs: 5_000, clock, text: 'Never.' })
    const late = readStream(model, question)
    await until(() => clock.pending === 1)
    clock.advance(5_000)
    expect((await late).text).toBe('Late.')
    const controller = new AbortController()
    const never = readStream(model, { ...question, signal: controller.signal })
    await until(() => clock.pending === 1)
    controller.abort(new Error('enough'))
    await expect(never).rejects.toThrow('enough')
    expect(clock.pending).toBe(0)
  })

  test('requests are kept as they were when they came', async () => {
    const model = scripted('One.', 'Two.')
    const growing = [...messages]
    await readStream(model, { messages: growing, tools: [], temperature: 0 })
    growing.push({ role: 'assistant', content: 'One.' })
    await readStream(model, { messages: growing, tools: [] })
    expect(model.requests.map((request) => request.messages.length)).toEqual([1, 2])
    expect(model.requests[0]?.temperature).toBe(0)
  })

  test('a question too many is told so', async () => {
    const model = scripted('Only one.')
    await readStream(model, question)
    const error = await readStream(model, question).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({ message: expect.stringContaining('this is question 2, and there is 1 turn') })
  })
})

describe('a scripted model keeps the contract', () => {
  const asTheScriptSays: GivenTurn = ({ messages }) => {
    const asked = messages.findLast(({ role }) => role === 'user')?.content ?? ''
    const answer = scriptedAnswer(asked, messages.at(-1)?.role === 'tool')
    return answer?.status === undefined ? (answer ?? '') : new ModelError('Broken.', { status: answer.status })
  }
  const model = scripted(...Array<GivenTurn>(100).fill(asTheScriptSays))
  const offered = () => model.requests.at(-1)?.tools.map(({ name }) => name) ?? []
  for (const { name, run } of modelContract({ make: () => model, offered })) test(name, run)
})

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}
