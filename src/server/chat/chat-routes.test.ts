import { describe, expect, test, vi } from 'vitest'
import { never } from '../../core/fixtures/code-yard.ts'
import { ModelError } from '../../models/model-error.ts'
import { openScriptedServer } from '../fixtures/open-scripted-server.ts'
import { readEvents } from '../fixtures/read-events.ts'

const paris = { calls: [{ name: 'get_weather', arguments: { location: 'Paris' } }] }
const blue = { get_weather: () => ({ sky: 'blue' }) }

function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
  return fetch(url, { ...init, body: typeof body === 'string' ? body : JSON.stringify(body) })
}

const EVENTS = { accept: 'text/event-stream' }

describe('POST /chat', () => {
  test('answers by the response rules, with the tools that ran and the name of the run', async () => {
    const { url, model } = await openScriptedServer([paris, 'It is blue.'], { tools: blue })
    const response = await post(`${url}/chat`, {
      message: 'How is the weather?',
      previous_messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi' },
      ],
      profile: { intent: 'weather' },
    })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      content: 'It is blue.',
      service: 'scripted',
      model: 'turns',
      tool_calls: [{ tool: 'get_weather', params: { location: 'Paris' }, result: { success: true }, iteration: 1 }],
      stop_reason: 'stop',
      run_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    expect(model.requests[0]?.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi' },
      { role: 'user', content: 'How is the weather?' },
    ])
  })

  test('streams events if the request accepts them, with the answer last', async () => {
    const { url } = await openScriptedServer([{ text: 'Wait.', ...paris }, 'It is blue.'], { tools: blue })
    const response = await post(`${url}/chat`, { message: 'How is the weather?' }, EVENTS)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const events = await Array.fromAsync(readEvents(response))
    expect(events.map(({ event }) => event)).toEqual([
      'text-delta',
      'tool-call-start',
      'tool-call-delta',
      'tool-call-delta',
      'tool-call-end',
      'call-result',
      'text-delta',
      'text-delta',
      'text-delta',
      'answer',
    ])
    expect(events[0]?.data).toEqual({ text: 'Wait.' })
    expect(events.at(-1)?.data).toMatchObject({
      content: 'It is blue.',
      stop_reason: 'stop',
      run_id: expect.any(String),
    })
    expect(JSON.stringify(events)).not.toContain('Be brief.')
  })

  test('runs tool_name first', async () => {
    const { url } = await openScriptedServer(['It is blue.'], { tools: blue })
    const asked = { message: 'How is the weather?', tool_name: 'get_weather', tool_params: { location: 'Paris' } }
    expect(await (await post(`${url}/chat`, asked)).json()).toMatchObject({
      content: 'It is blue.',
      tool_calls: [{ tool: 'get_weather', iteration: 0, result: { success: true, result: { sky: 'blue' } } }],
    })
  })

  test('answers a rejected tool_name as /tools/execute does, also as a stream', async () => {
    const { url, model } = await openScriptedServer(['It is blue.'], { tools: blue })
    const executed = await post(`${url}/tools/execute`, { tool_name: 'get_whether', params: {} })
    const { execution_time_ms: _, ...envelope } = (await executed.json()) as Record<string, unknown>
    for (const headers of [{}, EVENTS]) {
      const response = await post(`${url}/chat`, { message: 'Hi', tool_name: 'get_whether' }, headers)
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject(envelope)
    }
    expect(model.requests).toEqual([])
  })

  test('answers a tool_name beyond the session limit with 429 and Retry-After', async () => {
    const { url } = await openScriptedServer(['One.', 'Two.'], {
      tools: blue,
      config: { limits: { calls_per_session: 1 } },
    })
    const asked = { message: 'Hi', tool_name: 'get_weather', session_id: 'a' }
    expect((await post(`${url}/chat`, asked)).status).toBe(200)
    const second = await post(`${url}/chat`, asked)
    expect(second.status).toBe(429)
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(3_600)
    expect(await second.json()).toMatchObject({ success: false, error_code: 'RATE_LIMITED' })
    expect((await post(`${url}/chat`, { ...asked, session_id: 'b' })).status).toBe(200)
  })

  test('counts the calls of the model to the session, too', async () => {
    const { url } = await openScriptedServer([paris, 'One.', paris, 'Two.'], {
      tools: blue,
      config: { limits: { calls_per_session: 1 } },
    })
    const ask = async () => (await post(`${url}/chat`, { message: 'Hi', session_id: 'a' })).json()
    expect(await ask()).toMatchObject({ tool_calls: [{ result: { success: true } }] })
    expect(await ask()).toMatchObject({ tool_calls: [{ result: { error_code: 'RATE_LIMITED' } }] })
  })

  test('S5 a failed provider is an error with what happened before', async () => {
    const { url } = await openScriptedServer([new Error('connect 10.0.0.1:443')])
    const response = await post(`${url}/chat`, { message: 'Hi' })
    expect(response.status).toBe(502)
    expect(response.headers.get('content-type')).toContain('application/problem+json')
    const text = await response.text()
    const failure = { status: 502, stop_reason: 'error', tool_calls: [], run_id: expect.any(String) }
    expect(JSON.parse(text)).toMatchObject({ ...failure, error: expect.stringContaining('failed') })
    expect(text).not.toContain('10.0.0.1')
  })

  test.each([
    [new ModelError('Slow down', { status: 429, retryAfterMs: 2_500 }), 503, '3'],
    [new ModelError('Too late', { status: 504 }), 504, null],
    [new ModelError('Wrong key', { status: 401 }), 502, null],
  ])('S5 %s is answered with %i', async (error, status, wait) => {
    const { url } = await openScriptedServer([error, error, error])
    const { url: v1 } = await openScriptedServer([error])
    const chat = await post(`${url}/chat`, { message: 'Hi' })
    expect([chat.status, chat.headers.get('retry-after')]).toEqual([status, wait])
    const stream = await post(`${url}/chat`, { message: 'Hi' }, { accept: 'text/event-stream' })
    expect(stream.status).toBe(status)
    const tested = await post(`${url}/api/tools/test`, { query: 'Hi', model: 'scripted:turns' })
    expect(tested.status).toBe(500)
    const messages = [{ role: 'user', content: 'Hi' }]
    const openai = await post(`${v1}/v1/chat/completions`, { model: 'scripted:turns', messages })
    expect([openai.status, openai.headers.get('retry-after')]).toEqual([status, wait])
  })

  test('S5 a stream that has begun ends with an error event', async () => {
    const tools = { look: async () => 'found' }
    const { url } = await openScriptedServer([{ calls: [{ name: 'look' }] }, new Error('down')], { tools })
    const stream = await post(`${url}/chat`, { message: 'Hi' }, { accept: 'text/event-stream' })
    expect(stream.status).toBe(200)
    const events = await Array.fromAsync(readEvents(stream))
    expect(events.at(-1)).toMatchObject({ event: 'error', data: { status: 502, tool_calls: [{ tool: 'look' }] } })
  })

  test('rejects invalid questions', async () => {
    const { url, model } = await openScriptedServer(['Hi.'])
    const refused = async (body: unknown) => {
      const response = await post(`${url}/chat`, body)
      expect(response.headers.get('content-type')).toContain('application/problem+json')
      return [response.status, ((await response.json()) as { error: string }).error]
    }
    const previous = (...messages: object[]) => ({ message: 'a', previous_messages: messages })
    const table: [unknown, string][] = [
      ['{', 'JSON'],
      [{}, "missing 'message'"],
      [{ message: ' ' }, 'The message is empty'],
      [{ message: 1 }, 'message must be a string'],
      [{ message: 'a'.repeat(200_001) }, 'message must have at most 200000 characters'],
      [previous(...Array(201).fill({ role: 'user', content: '' })), 'previous_messages must have at most 200 items'],
      [previous({ role: 'system', content: '' }), 'previous_messages[0].role must be one of: user, assistant'],
      [previous({}), "missing 'previous_messages[0].content'"],
      [{ message: 'a', model: 'a:b' }, "'model' is not known"],
      [{ message: 'a', tool_params: {} }, 'needs a tool_name'],
    ]
    for (const [body, problem] of table) expect(await refused(body)).toEqual([400, expect.stringContaining(problem)])
    expect(model.requests).toEqual([])
  })

  test('reports that no response rule matches, also as a stream', async () => {
    const { url } = await openScriptedServer([], { config: { responses: [] } })
    for (const headers of [{}, EVENTS]) {
      const response = await post(`${url}/chat`, { message: 'Hi' }, headers)
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: 'No response rule matches', status: 400 })
    }
  })

  test.each([{}, EVENTS])('calls everything off when the client hangs up (%o)', async (headers) => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const { url } = await openScriptedServer([paris], {
      tools: {
        get_weather: (_, { signal }) => {
          signal.addEventListener('abort', () => end())
          begin()
          return never()
        },
      },
    })
    const controller = new AbortController()
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
    const asked = fetch(`${url}/chat`, { ...init, body: '{"message":"Hi"}', signal: controller.signal })
    const read = asked.then((response) => response.text()).catch((error: Error) => error.name)
    await begun
    controller.abort()
    await ended
    expect(await read).toBe('AbortError')
    await vi.waitFor(async () => {
      const page = await (await fetch(`${url}/api/runs`)).json()
      expect(page).toMatchObject({ runs: [{ stop_reason: 'cancelled', tool_calls: 1 }] })
    })
  })

  test('needs a key with the scope chat', async () => {
    const { url, key } = await openScriptedServer(['Hi.'])
    const reader = await key('acme', 'user', ['read'])
    const authorization = `Bearer ${reader}`
    expect((await post(`${url}/chat`, { message: 'Hi' }, { authorization })).status).toBe(403)
    expect((await post(`${url}/chat`, { message: 'Hi' })).status).toBe(401)
  })
})

describe('POST /api/tools/test', () => {
  test('lets a model answer with every tool', async () => {
    const { url, model } = await openScriptedServer([paris, 'It is blue.'], { tools: blue })
    const response = await post(`${url}/api/tools/test`, { query: 'How is the weather?', model: 'scripted:turns' })
    expect(await response.json()).toMatchObject({
      content: 'It is blue.',
      service: 'scripted',
      model: 'turns',
      tool_calls: [{ tool: 'get_weather' }],
    })
    expect(model.requests[0]).toMatchObject({
      max_tokens: 500,
      tools: expect.arrayContaining([expect.objectContaining({ name: 'get_weather' })]),
      messages: [
        {
          role: 'system',
          content: 'You are a helpful assistant with access to tools. Use them when appropriate.',
        },
        { role: 'user', content: 'How is the weather?' },
      ],
    })
  })

  test('records nothing about the model', async () => {
    const { url, installation } = await openScriptedServer(['Hi.'])
    await post(`${url}/api/tools/test`, { query: 'Hi', model: 'scripted:turns' })
    expect(await installation.storage.validations.list('local')).toEqual([])
  })

  test('streams events if the request accepts them', async () => {
    const { url } = await openScriptedServer(['Hi.'])
    const response = await post(`${url}/api/tools/test`, { query: 'Hi', model: 'scripted:turns' }, EVENTS)
    const events = await Array.fromAsync(readEvents(response))
    expect(events.map(({ event }) => event)).toEqual(['text-delta', 'answer'])
  })

  test('takes earlier messages and offers only the chosen tools', async () => {
    const { url, model } = await openScriptedServer(['It is blue.'], { tools: { ...blue, look: () => 1 } })
    const previous_messages = [
      { role: 'user', content: 'How is the weather?' },
      { role: 'assistant', content: 'Which location?' },
    ]
    const body = { query: 'in Berlin', model: 'scripted:turns', previous_messages, tools: ['look'] }
    expect((await post(`${url}/api/tools/test`, body)).status).toBe(200)
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['look'])
    expect(model.requests[0]?.messages.slice(1)).toEqual([...previous_messages, { role: 'user', content: 'in Berlin' }])
  })

  test('runs no tool if the results are mocked, and marks the stored run', async () => {
    const look = vi.fn()
    const { url, model, installation } = await openScriptedServer(
      [paris, { calls: [{ name: 'look' }] }, 'It is red.'],
      {
        tools: { get_weather: look, look },
      },
    )
    const mocked = { query: 'How?', model: 'scripted:turns', mock: true, mock_results: { get_weather: { sky: 'red' } } }
    const answer = (await (await post(`${url}/api/tools/test`, mocked)).json()) as { run_id: string }
    expect(answer).toMatchObject({
      content: 'It is red.',
      tool_calls: [{ result: { result: { sky: 'red' } } }, { result: { result: { ok: true } } }],
    })
    expect([look.mock.calls, model.requests.length]).toEqual([[], 3])
    await vi.waitFor(async () =>
      expect(await installation.storage.runs.get('local', answer.run_id)).toMatchObject({ mocked: true }),
    )
  })

  test.each([
    [{ tools: ['nothing'] }, "Tool 'nothing' not found"],
    [{ mock: true, mock_results: { nothing: 1 } }, "Tool 'nothing' not found"],
    [{ mock_results: {} }, 'mock_results needs "mock": true'],
    [{ max_tokens: 5 }, "'max_tokens' is not known"],
    [{ ask_write: true }, "'ask_write' is not known. Did you mean 'ask_writes'?"],
    [{ previous_messages: [{ role: 'system', content: 'Obey' }] }, 'previous_messages'],
  ])('rejects %j', async (body, message) => {
    const { url, model } = await openScriptedServer(['Hi.'], { tools: blue })
    const response = await post(`${url}/api/tools/test`, { query: 'Hi', model: 'scripted:turns', ...body })
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining(message.replaceAll('"', '\\"')),
    ])
    expect(model.requests).toEqual([])
  })

  test('rejects a missing query, a missing model and an unknown model', async () => {
    const { url } = await openScriptedServer([])
    const refused = async (body: object) => {
      const response = await post(`${url}/api/tools/test`, body)
      return [response.status, ((await response.json()) as { error: string }).error]
    }
    const model = 'scripted:turns'
    for (const body of [{}, { query: 'Hi' }, { model }, { query: ' ', model }]) {
      expect(await refused(body)).toEqual([400, 'Missing query or model'])
    }
    const known = expect.stringContaining('Provider nobody not found (known: scripted)')
    expect(await refused({ query: 'Hi', model: 'nobody:m' })).toEqual([400, known])
    expect(await refused({ query: 'Hi', model: 'gpt' })).toEqual([400, expect.stringContaining('names no provider')])
  })
})
