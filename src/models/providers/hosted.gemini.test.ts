import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import { readStream } from '../../testing/model-contract.ts'
import { frame } from '../fixtures/wire-frames.ts'
import { wireModel } from '../fixtures/wire-model.ts'
import { json, startWireServer, streamed, type WireServer } from '../fixtures/wire-server.ts'
import type { Message } from '../model.ts'
import { geminiWire } from './hosted.ts'

const look = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }
const user: Message = { role: 'user', content: 'Look.' }
const said = (parts: object[], finishReason?: string): string =>
  frame({ candidates: [{ content: { role: 'model', parts }, ...(finishReason && { finishReason }) }] })

describe('the wire of Gemini', () => {
  let server: WireServer
  beforeAll(async () => {
    server = await startWireServer()
  })
  afterAll(() => server.stop())
  beforeEach(() => {
    server.requests.length = 0
  })

  const body = () => server.requests.at(-1)?.body as { contents: unknown[] }
  const model = () => wireModel(geminiWire, { base_url: `${server.url}/v1beta` }, 'gemini-3-pro-preview')

  test('thought signatures go back where they were: on thoughts, on text, on calls', async () => {
    server.replies = [
      streamed([
        said([{ text: 'Hm.', thought: true, thoughtSignature: 'of-thought' }]),
        said([{ text: 'I look' }]),
        said([{ text: ' twice.', thoughtSignature: 'of-text' }]),
        said([{ functionCall: { name: 'look', args: { at: 1 } }, thoughtSignature: 'of-call' }]),
        said([{ functionCall: { name: 'look', args: { at: 2 } } }, { functionCall: { name: 'look' } }], 'STOP'),
      ]),
    ]
    const { message, calls, finish } = await readStream(await model(), { messages: [user], tools: [look] })
    expect(finish.reason).toBe('tool_calls')
    expect(calls.map((call) => call.function.arguments)).toEqual(['{"at":1}', '{"at":2}', '{}'])
    expect(calls[0]?.metadata).toEqual({ google: { thoughtSignature: 'of-call' } })
    const [one, two, three] = calls.map(({ id }) => id)
    expect(new Set([one, two, three]).size).toBe(3)

    const results = calls.map(
      ({ id }, index): Message => ({
        role: 'tool',
        tool_call_id: id,
        name: 'look',
        content: JSON.stringify({ success: index !== 1 }),
      }),
    )
    const stored: Message[] = JSON.parse(JSON.stringify([user, message, ...results]))
    await readStream(await model(), { messages: stored, tools: [look], max_tokens: 9, temperature: 0.2 })
    expect(body()).toEqual({
      contents: [
        { role: 'user', parts: [{ text: 'Look.' }] },
        {
          role: 'model',
          parts: [
            { text: 'Hm.', thought: true, thoughtSignature: 'of-thought' },
            { text: 'I look twice.', thoughtSignature: 'of-text' },
            { functionCall: { id: one, name: 'look', args: { at: 1 } }, thoughtSignature: 'of-call' },
            { functionCall: { id: two, name: 'look', args: { at: 2 } } },
            { functionCall: { id: three, name: 'look', args: {} } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: one, name: 'look', response: { name: 'look', content: { success: true } } } },
            { functionResponse: { id: two, name: 'look', response: { name: 'look', error: { success: false } } } },
            { functionResponse: { id: three, name: 'look', response: { name: 'look', content: { success: true } } } },
          ],
        },
      ],
      generationConfig: { maxOutputTokens: 9, temperature: 0.2 },
      tools: [
        { functionDeclarations: [{ name: 'look', description: 'Looks.', parametersJsonSchema: look.parameters }] },
      ],
      toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
    })
  })

  test('a signature that comes after the text, with nothing in it, goes back too', async () => {
    server.replies = [streamed([said([{ text: 'Done.' }]), said([{ text: '', thoughtSignature: 'late' }], 'STOP')])]
    const { message } = await readStream(await model(), { messages: [user], tools: [] })
    await readStream(await model(), { messages: [user, message, user], tools: [] })
    expect(body().contents[1]).toEqual({ role: 'model', parts: [{ text: 'Done.', thoughtSignature: 'late' }] })
  })

  test.each([
    ['SAFETY', 'content_filter'],
    ['MAX_TOKENS', 'length'],
    ['MALFORMED_FUNCTION_CALL', 'error'],
    ['OTHER', 'error'],
  ])('the reason %s is %s', async (raw, reason) => {
    server.replies = [streamed([said([{ text: 'Well.' }], raw)])]
    expect((await readStream(await model(), { messages: [user], tools: [] })).finish.reason).toBe(reason)
  })

  test('a question that is blocked is filtered content', async () => {
    server.replies = [streamed([frame({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } })])]
    const { finish, text } = await readStream(await model(), { messages: [user], tools: [] })
    expect([finish.reason, text]).toEqual(['content_filter', ''])
  })

  test('a 429 says in its body how long to wait', async () => {
    const details = [
      { '@type': 'type.googleapis.com/google.rpc.QuotaFailure' },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' },
    ]
    server.replies = [json(429, { error: { code: 429, message: 'Too much.', status: 'RESOURCE_EXHAUSTED', details } })]
    await expect(readStream(await model(), { messages: [user], tools: [] })).rejects.toMatchObject({
      status: 429,
      retryAfterMs: 34_500,
    })
  })

  test('the list is read to its last page, and gives the names by which models are asked for', async () => {
    server.replies = [
      json(200, { models: [{ name: 'models/one' }], nextPageToken: 'next' }),
      json(200, { models: [{ name: 'models/two' }] }),
    ]
    const about = { name: 'g', type: 'gemini', base_url: `${server.url}/v1beta`, api_key: 'k' }
    const wire = await geminiWire(about, { log: silentLog, clock: systemClock })
    expect(await wire.list?.(AbortSignal.timeout(60_000))).toEqual([{ name: 'one' }, { name: 'two' }])
    expect(server.requests.map(({ path }) => path)).toEqual([
      '/v1beta/models?pageSize=1000',
      '/v1beta/models?pageSize=1000&pageToken=next',
    ])
    expect(server.requests[0]?.headers).toMatchObject({ 'x-goog-api-key': 'k' })
  })

  test('it needs a key, and says so', () => {
    expect(() => geminiWire({ name: 'g', type: 'gemini' }, { log: silentLog, clock: systemClock })).toThrow(
      'Set providers.g.api_key, for example to "${GEMINI_API_KEY}".',
    )
  })
})
