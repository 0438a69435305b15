import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { silentLog } from '../../core/log.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import {
  anthropicFrames,
  geminiFrames,
  openaiChatFrames,
  openaiResponsesFrames,
  type WireFrames,
} from '../fixtures/wire-frames.ts'
import { cutAfter, json, startWireServer, streamed, type WireReply, type WireServer } from '../fixtures/wire-server.ts'
import type { ModelEvent } from '../model.ts'
import { ModelError, withModelId } from '../model-error.ts'
import type { ProviderSettings, WireMaker, WireRequest } from '../provider.ts'
import { anthropicWire, geminiWire, openaiWire } from './hosted.ts'

const wires: [string, WireMaker, Partial<ProviderSettings>, WireFrames][] = [
  ['OpenAI responses', openaiWire, { api: 'responses' }, openaiResponsesFrames],
  ['OpenAI chat', openaiWire, { api: 'chat' }, openaiChatFrames],
  ['Anthropic', anthropicWire, {}, anthropicFrames],
  ['Gemini', geminiWire, {}, geminiFrames],
]

const KEY = 'a-secret-key'
const HEADER = 'a-secret-header'
const tool = { name: 'get_weather', description: 'Weather.', parameters: { type: 'object', properties: {} } }

describe.each(wires)('the wire of %s', (name, make, settings, frames) => {
  let server: WireServer
  const clock = new ManualClock()
  beforeAll(async () => {
    server = await startWireServer()
  })
  afterAll(() => server.stop())

  /** What came before the end, and what was thrown. */
  async function ask(
    reply: WireReply,
    more: Partial<WireRequest> = {},
  ): Promise<{ events: ModelEvent[]; error: unknown }> {
    server.replies = [reply]
    server.requests.length = 0
    const headers = { 'x-extra': HEADER }
    const about = { name: 'it', type: 'x', base_url: server.url, api_key: KEY, headers, ...settings }
    const wire = await make(about, { log: silentLog, clock })
    const events: ModelEvent[] = []
    try {
      const request: WireRequest = { messages: [{ role: 'user', content: 'Hello?' }], tools: [tool], ...more }
      for await (const event of wire.stream('some-model', request)) events.push(event)
    } catch (error) {
      return { events, error }
    }
    return { events, error: undefined }
  }

  async function failureOf(reply: WireReply): Promise<ModelError> {
    const { error, events } = await ask(reply)
    expect(error).toBeInstanceOf(ModelError)
    expect(events.filter(({ type }) => type === 'finish')).toEqual([])
    const failure = error as ModelError
    for (const secret of [KEY, HEADER, '127.0.0.1', 'http', '    at ']) expect(failure.message).not.toContain(secret)
    expect(failure.cause).toBeUndefined()
    expect(server.requests.length).toBeLessThanOrEqual(1)
    return failure
  }

  const said = { error: { message: 'Slow down, see https://help.example/limits.', type: 'x', code: 8, status: 'X' } }

  test('a 429 says how long to wait, in seconds', async () => {
    const failure = await failureOf(json(429, said, { 'retry-after': '7' }))
    expect(failure).toMatchObject({ status: 429, retryable: true, retryAfterMs: 7000 })
    expect(failure.message).toBe(
      'The provider answered 429: Slow down, see [address]. Wait, or raise the limit of the account.',
    )
  })

  test('a 429 says how long to wait, by a date', async () => {
    const date = new Date(clock.wall() + 90_000).toUTCString()
    expect(await failureOf(json(429, said, { 'retry-after': date }))).toMatchObject({ retryAfterMs: 90_000 })
  })

  test('a 500 may be tried again', async () => {
    const failure = await failureOf(json(500, said))
    expect(failure).toMatchObject({ status: 500, retryable: true, retryAfterMs: undefined })
    expect(failure.message).toContain('Try again later.')
  })

  test('a page of a gateway is a failure by its status', async () => {
    const failure = await failureOf((response) => response.writeHead(502).end('<html>Bad gateway</html>'))
    expect(failure).toMatchObject({ status: 502, retryable: true })
    expect(failure.message).toMatch(/^The provider answered 502: Bad Gateway\. /)
  })

  test.each([
    [400, 'supports tools'],
    [401, 'Check the api_key.'],
    [403, 'Check the api_key'],
    [404, 'name of the model'],
    [413, 'Send a smaller request.'],
  ])('a %i is final and says what to do', async (status, advice) => {
    const failure = await failureOf(json(status, { error: { message: `Your ${KEY} is no good`, type: 'x', code: 9 } }))
    expect(failure).toMatchObject({ status, retryable: false })
    expect(failure.message).toContain(advice)
    // A refused key may stand there in part.
    expect(failure.message.includes('is no good')).toBe(status !== 401)
  })

  test.each([301, 302, 303, 307, 308])('a %i is not followed, so that no key goes elsewhere', async (status) => {
    const failure = await failureOf((response) => response.writeHead(status, { location: '/elsewhere' }).end())
    expect(failure).toMatchObject({ status: 502, retryable: false })
    expect(failure.message).toMatch(/^The provider redirects to another address/)
    expect(server.requests).toHaveLength(1)
  })

  test('a server that is not there may be tried again', async () => {
    const gone = await startWireServer()
    await gone.stop()
    const wire = await make(
      { name: 'it', type: 'x', base_url: gone.url, api_key: KEY, ...settings },
      { log: silentLog, clock },
    )
    const asked = wire.stream('m', { messages: [{ role: 'user', content: 'Hello?' }], tools: [] })
    const error = await asked[Symbol.asyncIterator]()
      .next()
      .catch((thrown) => thrown)
    expect(error).toMatchObject({ name: 'ModelError', retryable: true, status: undefined })
    expect(error.message).toBe(
      'The provider cannot be reached: the connection was refused (ECONNREFUSED). Check that it is running, and the base_url.',
    )
  })

  test('a question that was given up before anything came closes the connection', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    let closed: Promise<unknown> | undefined
    const { error } = await ask(
      (response) => {
        closed = once(response, 'close')
        controller.abort(reason)
      },
      { signal: controller.signal },
    )
    expect(error).toBe(reason)
    await closed
  })

  test('a connection that is cut in mid-stream is a failure, after the text that came', async () => {
    const { events, error } = await ask(cutAfter([...frames.start, ...frames.text('Half of')]))
    expect(events).toEqual([{ type: 'text-delta', text: 'Half of' }])
    expect(error).toMatchObject({ name: 'ModelError', retryable: true })
    expect((error as ModelError).message).toContain('was lost during the response')
  })

  test('a connection that is cut before anything came is a failure', async () => {
    expect(await failureOf((response) => response.destroy())).toMatchObject({ retryable: true })
  })

  test('a body that ends in the middle of a frame is a failure', async () => {
    const whole = [...frames.start, ...frames.text('Half of'), ...frames.finish('stop')].join('')
    const { events, error } = await ask(streamed([whole.slice(0, whole.indexOf('Half of') + 20)]))
    expect(error).toMatchObject({ name: 'ModelError', retryable: true })
    expect(events.some(({ type }) => type === 'finish')).toBe(false)
  })

  test.each([cutAfter, streamed])('a call that had not ended is not given (%o)', async (reply) => {
    const open = frames.openCall('get_weather', '{"location":"Paris"}').slice(0, -1)
    const { events, error } = await ask(reply([...frames.start, ...frames.text('I look.'), ...open]))
    expect(error).toMatchObject({ name: 'ModelError', retryable: true })
    expect(events.some(({ type }) => type === 'tool-call-end' || type === 'finish')).toBe(false)
  })

  test('a call in which the tokens ran out is not given, and the reason is length', async () => {
    const open = frames.openCall('get_weather', '{"location":"Paris"}').slice(0, -1)
    // Anthropic closes the block all the same.
    const close = name === 'Anthropic' ? frames.closeCall('get_weather', '') : []
    const { events } = await ask(streamed([...frames.start, ...open, ...close, ...frames.finish('length')]))
    expect(events.some(({ type }) => type === 'tool-call-end')).toBe(false)
    expect(events.at(-1)).toMatchObject({ type: 'finish', reason: 'length' })
  })

  test('malformed arguments come through as they were written', async () => {
    const args = '{"location": Paris'
    const call = [...frames.openCall('get_weather', args), ...frames.closeCall('get_weather', args)]
    const { events } = await ask(streamed([...frames.start, ...call, ...frames.finish('stop')]))
    expect(events.filter(({ type }) => type === 'tool-call-end')).toMatchObject([
      { call: { function: { name: 'get_weather', arguments: args } } },
    ])
    expect(events.at(-1)).toMatchObject({ type: 'finish', reason: 'tool_calls' })
  })

  test('an unknown reason to finish is an error that the loop can tell of', async () => {
    const { events } = await ask(streamed([...frames.start, ...frames.text('Well.'), ...frames.finish('unknown')]))
    expect(events.at(-1)).toMatchObject({ type: 'finish', reason: 'error' })
  })

  test('length without a call stays length', async () => {
    const { events } = await ask(streamed([...frames.start, ...frames.text('Well'), ...frames.finish('length')]))
    expect(events.at(-1)).toMatchObject({ type: 'finish', reason: 'length' })
  })

  test('an empty answer is a failure', async () => {
    expect(await failureOf(streamed([]))).toMatchObject({ retryable: true })
  })

  test('garbage is a failure', async () => {
    const failure = await failureOf(streamed(['data: <html>what?</html>\n\n', 'data: {"a":\n\n']))
    expect(failure.retryable).toBe(false)
    // Anthropic's package gives an error of no kind.
    expect(failure.message).toMatch(/invalid response|The model failed/)
  })

  test('an error in the stream is a failure, before and after text', async () => {
    const error = frames.error('Overloaded')
    for (const text of [[], frames.text('Well')]) {
      const failure = await failureOf(streamed([...frames.start, ...text, ...error]))
      expect(failure.message).toContain('Overloaded')
      expect(failure.retryable).toBe(true)
    }
  })

  test('what it may not do is not asked for: no temperature, no limit, no tools', async () => {
    await ask(streamed([]), { tools: [] })
    const text = JSON.stringify(server.requests[0]?.body)
    expect(text).not.toMatch(/temperature|tool/i)
  })
})

test('the id of a model is added to the message once, also in a log that appends causes', () => {
  const cause = new Error('socket hang up')
  const failure = withModelId('office:gpt-x', new ModelError('The provider failed.', { cause, status: 502 }))
  expect(failure).toMatchObject({ message: 'office:gpt-x: The provider failed.', status: 502, cause })
})
