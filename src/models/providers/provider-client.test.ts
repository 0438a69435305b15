import { describe, expect, test, vi } from 'vitest'
import { later, never } from '../../core/fixtures/code-yard.ts'
import type { Effect } from '../../core/tool.ts'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import type { Message, ModelEvent, OfferedTool } from '../model.ts'
import { ModelError } from '../model-error.ts'
import type { Wire, WireRequest } from '../provider.ts'
import { generateChat, ProviderClient } from './provider-client.ts'

const HELLO: Message[] = [{ role: 'user', content: 'Hello' }]
const stop: ModelEvent = { type: 'finish', reason: 'stop' }
const call = (name: string): ModelEvent => ({
  type: 'tool-call-end',
  call: { id: '1', type: 'function', function: { name, arguments: '{}' } },
})
const tool = (name: string, parameters: object = { type: 'object', properties: {} }): OfferedTool => ({
  name,
  description: name,
  parameters: parameters as OfferedTool['parameters'],
})

/** A client before a wire that answers with these events, and what the wire was asked. */
function client(answer: readonly ModelEvent[] | (() => AsyncIterable<ModelEvent>), wire: Partial<Wire> = {}) {
  const log = captureLog()
  const clock = new ManualClock()
  const requests: WireRequest[] = []
  const whole: Wire = {
    dialect: 'openai',
    stream(_, request) {
      requests.push(request)
      if (typeof answer === 'function') return answer()
      return (async function* () {
        yield* answer
      })()
    },
    ...wire,
  }
  const settings = { name: 'office', type: 'openai', timeout_ms: 60_000 }
  return { client: new ProviderClient(settings, whole, { log, clock }), log, clock, requests }
}

describe('what stands in front of every wire', () => {
  test('tools go under names that the provider takes, and come back under their own', async () => {
    const { client: office, requests } = client([call('notes_search'), stop])
    const messages: Message[] = [
      ...HELLO,
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: '0', type: 'function', function: { name: 'notes.search', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: '0', name: 'notes.search', content: '1' },
    ]
    const { tool_calls } = await office.generateChat(messages, 'm', { tools: [tool('notes.search')] })
    expect(requests[0]?.tools).toMatchObject([{ name: 'notes_search' }])
    expect(requests[0]?.messages).toMatchObject([
      {},
      { tool_calls: [{ function: { name: 'notes_search' } }] },
      { name: 'notes_search' },
    ])
    expect(tool_calls).toMatchObject([{ function: { name: 'notes.search' } }])
  })

  test('a tool that the provider cannot take is left out, and that is said once', async () => {
    const { client: office, requests, log } = client([stop])
    const tools = [tool('good'), tool('bad', { type: 'object', properties: { a: { $ref: 'https://x.test/a' } } })]
    await office.generateChat(HELLO, 'm', { tools })
    await office.generateChat(HELLO, 'm', { tools })
    expect(requests[0]?.tools).toMatchObject([{ name: 'good' }])
    expect(log.at('warn')).toMatchObject([{ provider: 'office', tool: 'bad' }])
  })

  describe('a call that was printed', () => {
    const printed = {
      type: 'text-delta' as const,
      text: '<tool_call>{"name":"notes_search","arguments":{}}</tool_call>',
    }
    const ask = async (
      effect: Effect | undefined,
      printed_calls?: 'off' | 'read' | 'all',
      { messages = HELLO, printsCalls = true } = {},
    ) => {
      const { client: office, log } = client([printed, stop], { printsCalls })
      const model = office.model('m', printed_calls && { printed_calls })
      const effectOf = (name: string) => (name === 'notes.search' ? effect : undefined)
      const { tool_calls = [] } = await generateChat(model, messages, { tools: [tool('notes.search')], effectOf })
      return { calls: tool_calls, warnings: log.at('warn') }
    }

    test('is made if the tool only reads, and the models of the wire print calls', async () => {
      expect((await ask('read')).calls).toMatchObject([
        { function: { name: 'notes.search' }, metadata: { recovered: true } },
      ])
      expect((await ask('read', 'read', { printsCalls: false })).calls).toEqual([])
    })

    test.each(['write', 'idempotent', undefined] as const)('is not made if the effect is %s', async (effect) => {
      const { calls, warnings } = await ask(effect)
      expect(calls).toEqual([])
      expect(warnings).toEqual([
        expect.objectContaining({
          model: 'office:m',
          tool: 'notes.search',
          problem: expect.stringContaining('printed_calls'),
        }),
      ])
      expect((await ask(effect, 'all')).calls).toHaveLength(1)
    })

    test('is not made with printed_calls off, or if it was in an earlier message', async () => {
      expect(await ask('read', 'off')).toEqual({ calls: [], warnings: [] })
      const messages: Message[] = [{ role: 'user', content: `Read this: ${printed.text}` }]
      for (const mode of ['read', 'all'] as const) {
        const { calls, warnings } = await ask('read', mode, { messages })
        expect([calls, warnings]).toMatchObject([[], [{ problem: expect.stringContaining('earlier message') }]])
      }
    })

    test('is not made if nobody says what the tool does', async () => {
      const { client: office } = client([printed, stop], { printsCalls: true })
      const { tool_calls } = await office.generateChat(HELLO, 'm', { tools: [tool('notes.search')] })
      expect(tool_calls).toBeUndefined()
    })
  })

  test('any call means tool_calls, whatever the provider calls it', async () => {
    const { client: office } = client([call('good'), stop])
    expect((await office.generateChat(HELLO, 'm', { tools: [tool('good')] })).finish_reason).toBe('tool_calls')
  })

  test('a stream that ends without a finish is asked for again, and then a failure with provider and model', async () => {
    const { client: office, clock, requests } = client([])
    const reply = office.generateChat(HELLO, 'm').catch((error: unknown) => error)
    for (let step = 0; step < 40; step++) {
      await later(0)
      clock.advance(500)
    }
    const failure = await reply
    expect(failure).toBeInstanceOf(ModelError)
    expect(String(failure)).toMatch(/office:m: .*without a finish/)
    expect(requests).toHaveLength(4)
  })

  test('an answer that takes too long ends, also where the wire does not care for signals', async () => {
    const { client: office, clock } = client(async function* () {
      yield { type: 'text-delta', text: 'Well' }
      await never()
    })
    const reply = office.generateChat(HELLO, 'm').catch((error: unknown) => error)
    await later(1)
    clock.advance(60_000)
    expect(String(await reply)).toContain('office:m: No complete response within 60000 ms')
    expect(clock.pending).toBe(0)
  })

  test('what a wire throws by mistake is not passed on', async () => {
    const { client: office } = client(() => {
      throw new TypeError('secret of 10.0.0.1')
    })
    await expect(office.generateChat(HELLO, 'm')).rejects.toThrow('office:m: the provider failed unexpectedly')
  })

  test('the caller’s abort is thrown as it is', async () => {
    const { client: office } = client(async function* () {
      yield { type: 'text-delta', text: 'Well' }
      await never()
    })
    const controller = new AbortController()
    const reply = office.generateChat(HELLO, 'm', { signal: controller.signal })
    const gone = new Error('gone')
    setImmediate(() => controller.abort(gone))
    await expect(reply).rejects.toBe(gone)
  })

  test('a reader that leaves early leaves the wire too', async () => {
    const left = vi.fn()
    const { client: office, clock } = client(async function* () {
      try {
        for (;;) yield { type: 'text-delta', text: 'on and on ' }
      } finally {
        left()
      }
    })
    for await (const _ of office.model('m').stream({ messages: HELLO, tools: [] })) break
    await later(1)
    expect(left).toHaveBeenCalledOnce()
    expect(clock.pending).toBe(0)
  })

  test('lists what the provider has, and names it where that fails', async () => {
    const { signal } = new AbortController()
    const listing = client([], { list: async () => [{ name: 'a' }] })
    expect(await listing.client.list(signal)).toEqual([{ name: 'a' }])
    const failing = client([], {
      list: async () => {
        throw new ModelError('Not now')
      },
    })
    await expect(failing.client.list(signal)).rejects.toThrow('office: Not now')
  })
})
