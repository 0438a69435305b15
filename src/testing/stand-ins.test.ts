import { describe, expect, test } from 'vitest'
import type { Message } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import { modelContract, readStream } from './model-contract.ts'
import { scriptedAnswer } from './model-script.ts'
import { type GivenTurn, ManualClock, scripted } from './stand-ins.ts'

const messages: Message[] = [{ role: 'user', content: 'Hello?' }]
const question = { messages, tools: [] }

describe('scripted()', () => {
  test('streams text word by word, including white space', async () => {
    const { pieces, finish } = await readStream(scripted(' It is  sunny.\n'), question)
    expect(pieces).toEqual([' It', ' is', '  sunny.', '\n'])
    expect(finish).toEqual({ type: 'finish', reason: 'stop' })
  })

  test('streams calls in pieces after the text, with unique ids', async () => {
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

  test('splits arguments between characters', async () => {
    const { events } = await readStream(scripted({ calls: [{ name: 'echo', arguments: '🌤🌤🌤' }] }), question)
    const pieces = events.flatMap((event) => (event.type === 'tool-call-delta' ? [event.text] : []))
    expect(pieces).toEqual(['🌤🌤', '🌤'])
  })

  test('passes on reason, usage and metadata', async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
    const { finish } = await readStream(scripted({ text: 'It', reason: 'length', usage, metadata: { a: 1 } }), question)
    expect(finish).toEqual({ type: 'finish', reason: 'length', usage, metadata: { a: 1 } })
  })

  test('throws an error at once, or after the text', async () => {
    const error = new ModelError('Overloaded.', { retryable: true })
    await expect(readStream(scripted(error), question)).rejects.toBe(error)
    const heard: string[] = []
    const reading = async () => {
      for await (const event of scripted({ text: 'It is', error }).stream(question)) heard.push(event.type)
    }
    await expect(reading()).rejects.toBe(error)
    expect(heard).toEqual(['text-delta', 'text-delta'])
  })

  test('accepts a function of the request as a turn', async () => {
    const model = scripted(async ({ messages }) => `You said ${messages[0]?.content}`)
    expect((await readStream(model, question)).text).toBe('You said Hello?')
  })

  test('delays by the given clock, and stops on abort', async () => {
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

  test('records requests as they were when they arrived', async () => {
    const model = scripted('One.', 'Two.')
    const growing = [...messages]
    await readStream(model, { messages: growing, tools: [], temperature: 0 })
    growing.push({ role: 'assistant', content: 'One.' })
    await readStream(model, { messages: growing, tools: [] })
    expect(model.requests.map((request) => request.messages.length)).toEqual([1, 2])
    expect(model.requests[0]?.temperature).toBe(0)
  })

  test('rejects a request beyond the script', async () => {
    const model = scripted('Only one.')
    await readStream(model, question)
    const error = await readStream(model, question).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({ message: expect.stringContaining('The script has 1 turn, but this is request 2') })
  })
})

describe('a scripted model fulfils the contract', () => {
  const asTheScriptSays: GivenTurn = ({ messages }) => {
    const asked = messages.findLast(({ role }) => role === 'user')?.content ?? ''
    const answer = scriptedAnswer(JSON.stringify(asked), messages.at(-1)?.role === 'tool')
    return answer?.status === undefined ? (answer ?? '') : new ModelError('Broken.', { status: answer.status })
  }
  const model = scripted(...Array<GivenTurn>(100).fill(asTheScriptSays))
  const offered = () => model.requests.at(-1)?.tools.map(({ name }) => name) ?? []
  for (const { name, run } of modelContract({ make: () => model, offered })) test(name, run)
})

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}
