import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import { readStream } from '../../testing/model-contract.ts'
import { anthropicFrames, frame } from '../fixtures/wire-frames.ts'
import { wireModel } from '../fixtures/wire-model.ts'
import { json, startWireServer, streamed, type WireServer } from '../fixtures/wire-server.ts'
import type { Message } from '../model.ts'
import { anthropicWire } from './hosted.ts'

const look = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }
const failed = '{"success":false,"error":"Not now.","tool_name":"look"}'
const user: Message = { role: 'user', content: 'Look.' }
const block = (index: number, content_block: object, ...deltas: object[]): string[] => [
  frame({ type: 'content_block_start', index, content_block }),
  ...deltas.map((delta) => frame({ type: 'content_block_delta', index, delta })),
  frame({ type: 'content_block_stop', index }),
]

describe('the wire of Anthropic', () => {
  let server: WireServer
  beforeAll(async () => {
    server = await startWireServer()
  })
  afterAll(() => server.stop())
  beforeEach(() => {
    server.requests.length = 0
  })

  const body = () => server.requests.at(-1)?.body as { messages: unknown[]; tools?: unknown; tool_choice?: unknown }
  const { start, finish } = anthropicFrames
  const thought = [
    ...block(
      0,
      { type: 'thinking', thinking: '' },
      { type: 'thinking_delta', thinking: 'Hm, ' },
      { type: 'thinking_delta', thinking: 'look.' },
      { type: 'signature_delta', signature: 'signed' },
    ),
    ...block(1, { type: 'redacted_thinking', data: 'hidden' }),
    ...block(2, { type: 'text', text: '' }, { type: 'text_delta', text: 'I look.' }),
    ...block(3, { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }),
    ...block(
      4,
      { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
      { type: 'input_json_delta', partial_json: '{"a":1}' },
    ),
  ]

  test('marks the tools and the system message to be cached, and reports what was read from the cache', async () => {
    const cached = { input_tokens: 3, cache_read_input_tokens: 7, cache_creation_input_tokens: 0, output_tokens: 4 }
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], usage: cached }
    const begun = frame({ type: 'message_start', message })
    const text = anthropicFrames.text('Hi')
    const end = [
      frame({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: cached }),
      frame({ type: 'message_stop' }),
    ]
    server.replies = [streamed([begun, ...text, ...end])]
    const model = await wireModel(anthropicWire, { base_url: server.url })
    const system = ['Be brief.', 'Be kind.'].map((content): Message => ({ role: 'system', content }))
    const request = { messages: [...system, user], tools: [look, { ...look, name: 'see' }], cache: { key: 'x' } }
    const { finish: ended } = await readStream(model, request)
    const cache_control = { type: 'ephemeral' }
    expect(body()).toMatchObject({
      system: [{ text: 'Be brief.' }, { text: 'Be kind.', cache_control }],
      tools: [{ name: 'look' }, { name: 'see', cache_control }],
    })
    expect(JSON.stringify(body()).match(/cache_control/g)).toHaveLength(2)
    const total = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14, cached_tokens: 7 }
    expect(ended.usage).toEqual(total)
    await readStream(model, { ...request, cache: undefined as never })
    expect(JSON.stringify(body())).not.toContain('cache_control')
  })

  async function historyOfLook(): Promise<Message[]> {
    server.replies = [streamed([...start, ...thought, ...finish('stop')])]
    const model = await wireModel(anthropicWire, { base_url: server.url })
    const { message, calls, finish: end } = await readStream(model, { messages: [user], tools: [look] })
    expect(calls.map((call) => call.function.arguments)).toEqual(['{}', '{"a":1}'])
    expect(end.usage).toEqual({ prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 })
    const results = calls.map(
      ({ id }, index): Message => ({
        role: 'tool',
        tool_call_id: id,
        name: 'look',
        content: index === 0 ? '{"success":true}' : failed,
      }),
    )
    return JSON.parse(JSON.stringify([user, message, ...results]))
  }

  test('thinking goes back with its signature and in its place, and failed results are marked', async () => {
    const messages = [...(await historyOfLook()), { role: 'system', content: 'Be brief.' } as const]
    const model = await wireModel(anthropicWire, { base_url: server.url })
    await readStream(model, { messages, tools: [look] })
    expect(body().messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm, look.', signature: 'signed' },
          { type: 'redacted_thinking', data: 'hidden' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
          { type: 'tool_use', id: 'toolu_2', name: 'look', input: { a: 1 } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: '{"success":true}' },
          { type: 'tool_result', tool_use_id: 'toolu_2', content: failed, is_error: true },
          { type: 'text', text: 'Be brief.' },
        ],
      },
    ])
    expect(body()).toMatchObject({
      tools: [{ name: 'look', description: 'Looks.', input_schema: { type: 'object' } }],
      tool_choice: { type: 'auto' },
      max_tokens: expect.any(Number),
    })
  })

  test('where no tool may be called any more, those that were are still declared', async () => {
    const messages = await historyOfLook()
    await readStream(await wireModel(anthropicWire, { base_url: server.url }), { messages, tools: [] })
    expect(body()).toMatchObject({
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      tool_choice: { type: 'none' },
    })
  })

  test('the list is read to its last page', async () => {
    server.replies = [
      json(200, { data: [{ id: 'one' }], has_more: true, last_id: 'one' }),
      json(200, { data: [{ id: 'two' }], has_more: false, last_id: 'two' }),
    ]
    const about = { name: 'a', type: 'anthropic', base_url: `${server.url}/v1`, api_key: 'k' }
    const wire = await anthropicWire(about, { log: silentLog, clock: systemClock })
    expect(await wire.list?.(AbortSignal.timeout(60_000))).toEqual([{ name: 'one' }, { name: 'two' }])
    expect(server.requests.map(({ path }) => path)).toEqual([
      '/v1/models?limit=1000',
      '/v1/models?limit=1000&after_id=one',
    ])
    expect(server.requests[0]?.headers).toMatchObject({ 'x-api-key': 'k', 'anthropic-version': '2023-06-01' })
  })

  test('it needs a key, and says so', () => {
    expect(() => anthropicWire({ name: 'a', type: 'anthropic' }, { log: silentLog, clock: systemClock })).toThrow(
      'Set providers.a.api_key, for example to "${ANTHROPIC_API_KEY}".',
    )
  })
})
