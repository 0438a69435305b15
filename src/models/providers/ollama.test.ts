import { describe, expect, test } from 'vitest'
import { image } from '../../core/fixtures/media.ts'
import { readStream } from '../../testing/model-contract.ts'
import { scriptedTools } from '../../testing/model-script.ts'
import { askOllama as ask, done, part, parts, wireAt, wireTo } from '../fixtures/ollama-wire.ts'
import type { Message } from '../model.ts'
import { ModelCatalogue } from '../model-catalogue.ts'
import { ModelError } from '../model-error.ts'
import { openProvider } from './open-provider.ts'

describe('what goes to Ollama', () => {
  test('the conversation in its form: arguments as objects, names of tools, thinking', async () => {
    const { wire, server } = await wireTo(parts(done()))
    const messages: Message[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'get_weather', arguments: '{"location":"Paris"}' } },
          { id: 'b', type: 'function', function: { name: 'get_weather', arguments: 'not JSON' } },
          { id: 'c', type: 'function', function: { name: 'get_weather', arguments: '["no object"]' } },
        ],
        metadata: { ollama: { thinking: 'I should look.' } },
      },
      { role: 'tool', tool_call_id: 'a', name: 'get_weather', content: '{"success":true}' },
    ]
    await ask(wire, { messages, max_tokens: 100, temperature: 0 })
    expect(server.requests[0]?.path).toBe('/api/chat')
    expect(server.requests[0]?.body).toEqual({
      model: 'qwen3',
      stream: true,
      options: { num_predict: 100, temperature: 0 },
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: '',
          thinking: 'I should look.',
          tool_calls: [
            { id: 'a', function: { name: 'get_weather', arguments: { location: 'Paris' } } },
            { id: 'b', function: { name: 'get_weather', arguments: {} } },
            { id: 'c', function: { name: 'get_weather', arguments: {} } },
          ],
        },
        { role: 'tool', content: '{"success":true}', tool_name: 'get_weather', tool_call_id: 'a' },
      ],
    })
  })

  test('images beside the text of a message', async () => {
    const { wire, server } = await wireTo(parts(done()))
    const envelope = { type: 'text', text: '{"success":true}' } as const
    const messages: Message[] = [
      { role: 'user', content: [{ type: 'text', text: 'Look.' }, image] },
      { role: 'tool', tool_call_id: 'a', name: 'look', content: [envelope, image] },
    ]
    await ask(wire, { messages })
    expect(server.requests[0]?.body.messages).toEqual([
      { role: 'user', content: 'Look.', images: [image.data] },
      { role: 'tool', content: envelope.text, images: [image.data], tool_name: 'look', tool_call_id: 'a' },
    ])
  })

  test('images only for models that take them, by the configuration or by the list', async () => {
    const answer = ({ path }: { path: string }) =>
      path === '/api/tags'
        ? { status: 200, body: { models: [{ name: 'llava', capabilities: ['completion', 'vision'] }] } }
        : parts(done())
    const { server } = await wireTo(answer)
    const provider = await openProvider({ type: 'ollama', base_url: server.url })
    const configured = { id: 'ollama:qwen3', name: 'qwen3', capabilities: ['image-input'] }
    const models = new ModelCatalogue([provider], [configured])
    await models.discover('ollama')
    const accepted = ['llava', 'qwen3', 'llama3'].map((name) => models.get(`ollama:${name}`).accepts?.types)
    expect(accepted).toEqual([['image/png', 'image/jpeg'], ['image/png', 'image/jpeg'], undefined])
    const messages: Message[] = [{ role: 'user', content: [image] }]
    await readStream(models.get('ollama:llama3'), { messages, tools: [] })
    expect(server.requests.at(-1)?.body.messages).toEqual([{ role: 'user', content: '[image image/png, 67 bytes]' }])
  })

  test('tools in Qwen form, with a line in the log', async () => {
    const { wire, server, log } = await wireTo(parts(done()))
    await ask(wire, { tools: scriptedTools.map((tool) => ({ ...tool, strict: true, implementation: {} })) })
    expect(server.requests[0]?.body.tools).toEqual(scriptedTools.map((tool) => ({ type: 'function', function: tool })))
    expect(log.lines.map(({ message }) => message)).toEqual(['🔧 Converted 2 tools from LangChain to Qwen format'])
  })

  test('headers and key as configured', async () => {
    const { wire, server } = await wireTo(parts(done()), { api_key: 'k-1', headers: { 'x-team': 'blue' } })
    await ask(wire)
    expect(server.requests[0]?.headers).toMatchObject({ authorization: 'Bearer k-1', 'x-team': 'blue' })
  })

  test('a base_url that is none is said when the wire is made', async () => {
    await expect(wireAt('not a url')).rejects.toThrow(/^providers\.local\.base_url is not a URL/)
  })
})

describe('what comes from Ollama', () => {
  test('usage, and calls with ids of their own where the server gives none or the same twice', async () => {
    const call = { function: { name: 'get_time', arguments: {} } }
    const { wire } = await wireTo(
      parts(
        part({ tool_calls: [call, { id: 'call_x', ...call }] }),
        part({ tool_calls: [{ id: 'call_x', ...call }] }),
        done({ prompt_eval_count: 26, eval_count: 4 }),
      ),
    )
    const { calls, finish } = await ask(wire)
    expect(calls.map(({ id }) => id).filter((id) => id === 'call_x')).toHaveLength(1)
    expect(new Set(calls.map(({ id }) => id)).size).toBe(3)
    expect(finish).toMatchObject({
      reason: 'tool_calls',
      usage: { prompt_tokens: 26, completion_tokens: 4, total_tokens: 30 },
    })
  })

  test.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['load', 'error'],
    ['unload', 'error'],
    ['something new', 'error'],
    ['toString', 'error'],
    [undefined, 'stop'],
  ])('done_reason %j means %s', async (done_reason, reason) => {
    const { wire } = await wireTo(parts(part({ content: 'x' }), done({ done_reason })))
    const raw = reason === 'error' ? { raw_reason: done_reason } : {}
    expect((await ask(wire)).finish).toEqual({ type: 'finish', reason, ...raw })
  })

  test('calls win over the reason', async () => {
    const tool_calls = [{ function: { name: 'get_time', arguments: {} } }]
    const { wire } = await wireTo(parts(done({ message: { content: '', tool_calls }, done_reason: 'length' })))
    expect((await ask(wire)).finish.reason).toBe('tool_calls')
  })

  test('separates thinking from text and sends it back with the next request', async () => {
    const { wire } = await wireTo(
      parts(
        part({ thinking: 'First, ' }),
        part({ thinking: 'look.' }),
        part({ content: '<thi' }),
        part({ content: 'nk> Then say.</think>\n' }),
        part({ content: 'Paris.' }),
        done(),
      ),
    )
    const { text, finish } = await ask(wire)
    expect(text).toBe('Paris.')
    expect(finish.metadata).toEqual({ ollama: { thinking: 'First, look. Then say.' } })
  })

  test('an empty answer is an empty answer', async () => {
    const { wire } = await wireTo(parts(done()))
    const { text, calls, finish } = await ask(wire)
    expect([text, calls, finish.reason]).toEqual(['', [], 'stop'])
  })

  test('lines are read however the pieces are cut', async () => {
    const whole = [part({ content: 'Grüß ' }), part({ content: 'dich 👋' }), done()]
      .map((one) => JSON.stringify(one))
      .join('\n')
    const { wire } = await wireTo({ parts: whole.match(/.{1,7}/gsu) ?? [], pauseMs: 0 })
    expect((await ask(wire)).text).toBe('Grüß dich 👋')
  })
})

describe('the list of models', () => {
  test('comes with capabilities, asked for one by one where the list has none', async () => {
    const { wire } = await wireTo(({ path, body }) => {
      if (path === '/api/tags') {
        const models = [
          { name: 'qwen3:8b', capabilities: ['completion', 'tools'] },
          { name: 'gemma:2b' },
          { name: 'odd' },
        ]
        return { status: 200, body: { models } }
      }
      if (path === '/api/show' && body.model === 'gemma:2b') {
        return { status: 200, body: { capabilities: ['completion', 'vision'] } }
      }
      return { status: 500, body: { error: 'no such file' } }
    })
    expect(await wire.list?.(new AbortController().signal)).toEqual([
      { name: 'qwen3:8b', capabilities: ['completion', 'function-calling'] },
      { name: 'gemma:2b', capabilities: ['completion', 'image-input'] },
      { name: 'odd' },
    ])
  })

  test('fails with a ModelError, and with the reason of an abort', async () => {
    const { wire } = await wireTo({ status: 500, body: { error: 'no' } })
    await expect(wire.list?.(new AbortController().signal)).rejects.toBeInstanceOf(ModelError)
    const reason = new Error('gone')
    await expect(wire.list?.(AbortSignal.abort(reason))).rejects.toBe(reason)
  })
})
