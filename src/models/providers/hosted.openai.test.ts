import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import { readStream } from '../../testing/model-contract.ts'
import { frame, openaiChatFrames, openaiResponsesFrames } from '../fixtures/wire-frames.ts'
import { wireModel } from '../fixtures/wire-model.ts'
import { json, startWireServer, streamed, type WireServer } from '../fixtures/wire-server.ts'
import type { Message } from '../model.ts'
import { ModelError } from '../model-error.ts'
import { openaiWire } from './hosted.ts'

const around = { log: silentLog, clock: systemClock }
const failed = '{"success":false,"error":"Not now.","error_code":"TIMEOUT","tool_name":"look","execution_time_ms":3}'
const look = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }

const reasoning = (id: string, seal: string | null, ...summaries: string[]): string[] => [
  frame({
    type: 'response.output_item.added',
    output_index: 0,
    item: { type: 'reasoning', id, encrypted_content: null, summary: [] },
  }),
  ...summaries.flatMap((delta, summary_index) => [
    frame({ type: 'response.reasoning_summary_part.added', item_id: id, output_index: 0, summary_index }),
    frame({ type: 'response.reasoning_summary_text.delta', item_id: id, output_index: 0, summary_index, delta }),
    frame({ type: 'response.reasoning_summary_part.done', item_id: id, output_index: 0, summary_index }),
  ]),
  frame({
    type: 'response.output_item.done',
    output_index: 0,
    item: { type: 'reasoning', id, encrypted_content: seal, summary: [] },
  }),
]

describe('the wire of OpenAI', () => {
  let server: WireServer
  beforeAll(async () => {
    server = await startWireServer()
  })
  afterAll(() => server.stop())
  beforeEach(() => {
    server.requests.length = 0
  })

  const body = (): Record<string, unknown> & { input: unknown[]; messages: unknown[] } =>
    server.requests.at(-1)?.body as never
  const user: Message = { role: 'user', content: 'Look.' }
  const { start, text, openCall, closeCall, finish } = openaiResponsesFrames
  const call = [...openCall('look', '{"a":1}'), ...closeCall('look', '{"a":1}')]

  /** What is sent with the result of a call that came after this. */
  async function sentAfter(before: string[], model: string): Promise<unknown[]> {
    server.replies = [streamed([...start, ...before, ...text('I look.'), ...call, ...finish('stop')])]
    const asked = await wireModel(openaiWire, { base_url: server.url, api: 'responses' }, model)
    const { message, calls } = await readStream(asked, { messages: [user], tools: [look] })
    const stored: Message = JSON.parse(JSON.stringify(message))
    const result: Message = { role: 'tool', tool_call_id: calls[0]?.id ?? '', name: 'look', content: failed }
    await readStream(asked, { messages: [user, stored, result], tools: [look], temperature: 0.5 })
    return body().input
  }

  test('what it reasoned goes back sealed, before the call it belongs to, and nothing is left with the provider', async () => {
    expect(await sentAfter(reasoning('rs_1', 'sealed', 'First.', 'Second.'), 'gpt-5')).toEqual([
      { role: 'user', content: [{ type: 'input_text', text: 'Look.' }] },
      {
        type: 'reasoning',
        id: 'rs_1',
        encrypted_content: 'sealed',
        summary: [
          { type: 'summary_text', text: 'First.' },
          { type: 'summary_text', text: 'Second.' },
        ],
      },
      { role: 'assistant', content: 'I look.' },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"a":1}' },
      { type: 'function_call_output', call_id: 'call_1', output: failed },
    ])
    expect(body()).toMatchObject({ store: false, include: ['reasoning.encrypted_content'], tool_choice: 'auto' })
    expect(body()).not.toHaveProperty('temperature')
  })

  test('what it reasoned and did not seal is not named again', async () => {
    const sent = await sentAfter(reasoning('rs_1', null, 'First.'), 'some-model')
    expect(sent.map((item) => Reflect.get(Object(item), 'type'))).toEqual([
      undefined,
      undefined,
      'function_call',
      'function_call_output',
    ])
    expect(body()).toMatchObject({ temperature: 0.5 })
  })

  test('a failed result is sent as the envelope that it is, and system messages stay where they are', async () => {
    server.replies = [streamed([...openaiChatFrames.text('Well.'), ...openaiChatFrames.finish('stop')])]
    const model = await wireModel(openaiWire, { base_url: server.url })
    const calls = [{ id: 'c1', type: 'function', function: { name: 'look', arguments: 'oops' } }] as const
    const messages: Message[] = [
      user,
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'c1', name: 'look', content: failed },
      { role: 'system', content: 'Be brief.' },
    ]
    await readStream(model, { messages, tools: [] })
    expect(body().messages).toEqual([
      { role: 'user', content: 'Look.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"raw_arguments":"oops"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: failed },
      { role: 'system', content: 'Be brief.' },
    ])
  })

  test.each([
    ['chat', [{ type: 'function', function: { ...look, strict: true } }]],
    ['responses', [{ type: 'function', ...look, strict: true }]],
  ] as const)('a strict tool is offered as one (%s)', async (api, tools) => {
    server.replies = [streamed([])]
    const model = await wireModel(openaiWire, { base_url: server.url, api })
    await expect(
      readStream(model, { messages: [user], tools: [{ ...look, strict: true } as typeof look] }),
    ).rejects.toThrow()
    expect(body().tools).toEqual(tools)
  })

  test('other servers are asked over the chat API, and without a key without one', async () => {
    server.replies = [streamed([])]
    const about = { name: 'local', type: 'openai', base_url: `${server.url}/v1/`, headers: { 'X-Team': 'blue' } }
    const wire = await openaiWire(about, around)
    await expect(
      readStream({ id: 'x', stream: (request) => wire.stream('m', request) }, { messages: [user], tools: [] }),
    ).rejects.toThrow()
    const { path, headers } = server.requests[0] ?? {}
    expect(path).toBe('/v1/chat/completions')
    expect(headers).toMatchObject({ 'x-team': 'blue' })
    expect(headers).not.toHaveProperty('authorization')
    expect(wire).toMatchObject({ dialect: 'openai', printsCalls: true })
  })

  test('a header of the configuration stands instead of the key', async () => {
    server.replies = [json(200, { data: [{ id: 'a' }, { id: 'b' }, {}] })]
    const headers = { authorization: 'Basic x' }
    const wire = await openaiWire({ name: 'local', type: 'openai', base_url: server.url, headers }, around)
    expect(await wire.list?.(AbortSignal.timeout(60_000))).toEqual([{ name: 'a' }, { name: 'b' }])
    expect(server.requests[0]).toMatchObject({ path: '/models', headers: { authorization: 'Basic x' } })
  })

  test('OpenAI itself needs a key, and says so', () => {
    const make = () => openaiWire({ name: 'main', type: 'openai' }, around)
    expect(make).toThrow(ModelError)
    expect(make).toThrow(
      'Provider "main" has no api_key. Set providers.main.api_key, for example to "${OPENAI_API_KEY}".',
    )
    expect(openaiWire({ name: 'main', type: 'openai', api_key: 'k' }, around)).toHaveProperty('printsCalls', false)
  })

  test('a key that no header can carry is refused without being shown', () => {
    const make = () => openaiWire({ name: 'main', type: 'openai', api_key: 'sec\nret' }, around)
    expect(make).toThrow(/^providers\.main\.api_key has a character that no key has/)
  })

  test('an account without credit is not asked again', async () => {
    server.replies = [json(429, { error: { message: 'You exceeded your quota', code: 'insufficient_quota' } })]
    const model = await wireModel(openaiWire, { base_url: server.url })
    await expect(readStream(model, { messages: [user], tools: [] })).rejects.toMatchObject({
      status: 429,
      retryable: false,
      message: expect.stringContaining('billing'),
    })
  })

  test('a list that cannot be had says why', async () => {
    const wire = await openaiWire({ name: 'main', type: 'openai', base_url: server.url, api_key: 'abc' }, around)
    server.replies = [json(403, { error: { message: 'Not with abc' } })]
    await expect(wire.list?.(AbortSignal.timeout(60_000))).rejects.toThrow(
      'The provider answered 403: Not with [redacted]. Check the api_key and its permissions.',
    )
    server.replies = [(response) => response.end('<html>')]
    await expect(wire.list?.(AbortSignal.timeout(60_000))).rejects.toThrow('invalid list of models')
    const reason = new Error('gone')
    await expect(wire.list?.(AbortSignal.abort(reason))).rejects.toBe(reason)
  })
})
