import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Config, ModelError, openProvider } from 'toolyard'
import { captureLog, ManualClock, modelScript, scriptedTools } from 'toolyard/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { checkConfig } from '../src/config/check-config.ts'
import { anthropicFrames, openaiChatFrames } from '../src/models/fixtures/wire-frames.ts'
import { json, streamed } from '../src/models/fixtures/wire-server.ts'
import {
  aimock,
  asks,
  clientOf,
  configuredCatalogue,
  ended,
  geminiAnswering,
  geminiFinish,
  loopOver,
  ollamaAnswering,
  onAll,
  sent,
  useAimock,
  wireServer,
} from './fixtures/providers.ts'
import { mock, withTools } from './fixtures/tool-manager.ts'

describe('Provider clients', () => {
  useAimock()

  test('[3.1-1] generates a chat with OpenAI, Ollama, Gemini and Anthropic', () =>
    onAll(async (type) => {
      const client = await clientOf(type)
      const { content, finish_reason } = await client.generateChat(asks(modelScript.text), 'some-model')
      expect([content, finish_reason]).toEqual([modelScript.text.answer.text, 'stop'])
      const reply = await client.generateChat(asks(modelScript.call), 'some-model', { tools: scriptedTools })
      expect(reply).toMatchObject({ content: null, finish_reason: 'tool_calls', tool_calls: [{ type: 'function' }] })
    }))

  test('[3.1-2] returns tool calls with arguments as JSON text', () =>
    onAll(async (type) => {
      const client = await clientOf(type)
      const { tool_calls = [] } = await client.generateChat(asks(modelScript.parallel), 'm', { tools: scriptedTools })
      expect(tool_calls).toMatchObject([
        { id: expect.any(String), type: 'function', function: { name: 'get_weather' } },
        { id: expect.any(String), type: 'function', function: { name: 'get_weather' } },
      ])
      expect(tool_calls.map((call) => JSON.parse(call.function.arguments))).toEqual([
        { location: 'Paris' },
        { location: 'Oslo' },
      ])
    }))

  test('[3.1-3] returns the token usage', () =>
    onAll(async (type) => {
      const { usage } = await (await clientOf(type)).generateChat(asks(modelScript.text), 'm')
      expect(Object.keys(usage ?? {}).sort()).toEqual(['completion_tokens', 'prompt_tokens', 'total_tokens'])
      for (const tokens of Object.values(usage ?? {})) expect(tokens).toBeGreaterThanOrEqual(0)
    }))

  test('[3.1-4] takes tools, max_tokens, temperature and signal, and 0.7 when there is no temperature', async () => {
    const client = await clientOf('ollama')
    const options = () => sent<{ options: object }>(aimock).options
    await client.generateChat(asks(modelScript.text), 'm', { max_tokens: 321, temperature: 0 })
    expect(options()).toMatchObject({ temperature: 0, num_predict: 321 })
    await client.generateChat(asks(modelScript.text), 'm')
    expect(options()).toMatchObject({ temperature: 0.7 })
    expect(aimock.requests.at(-1)?.body).not.toHaveProperty('tools')
    await client.generateChat(asks(modelScript.call), 'm', { tools: scriptedTools })
    expect(aimock.requests.at(-1)?.body).toMatchObject({ tools: [{ function: { name: 'get_weather' } }, {}] })
    const aborted = client.generateChat(asks(modelScript.text), 'm', { signal: AbortSignal.abort(new Error('gone')) })
    await expect(aborted).rejects.toThrow('gone')
  })

  test('[3.1-5] converts registered tools, and rejects on failure', () =>
    onAll(async (type) => {
      const { registry } = await withTools({})
      registry.register(mock('notes.search'))
      const tools = registry.list()
      const before = JSON.stringify(tools)
      const client = await clientOf(type)
      await client.generateChat(asks(modelScript.text), 'm', { tools })
      expect(JSON.stringify(aimock.requests.at(-1)?.body)).toMatch(/"name":"notes[_.]search"/)
      expect(JSON.stringify(tools)).toBe(before)
      const failing = await clientOf(type, { timeout_ms: 50 })
      await expect(failing.generateChat(asks(modelScript.failure), 'm')).rejects.toBeInstanceOf(ModelError)
    }))

  test('[3.1-6] normalises finish_reason', async () => {
    const reasons = async (done_reason: string, message: object = {}) => {
      const client = await ollamaAnswering([
        { message: { role: 'assistant', content: 'x', ...message } },
        ended(done_reason),
      ])
      return (await client.generateChat(asks(modelScript.text), 'm', { tools: scriptedTools })).finish_reason
    }
    expect(await reasons('stop')).toBe('stop')
    expect(await reasons('length')).toBe('length')
    expect(await reasons('something_new')).toBe('error')
    expect(await reasons('stop', { tool_calls: [{ function: { name: 'get_time', arguments: {} } }] })).toBe(
      'tool_calls',
    )
    expect(await geminiFinish('SAFETY')).toBe('content_filter')
  })

  test("[3.1-7] gives ids to Ollama's calls", async () => {
    const call = { function: { name: 'get_time', arguments: {} } }
    const client = await ollamaAnswering([
      { message: { role: 'assistant', content: '', tool_calls: [call, call] } },
      ended('stop'),
    ])
    const { tool_calls = [] } = await client.generateChat(asks(modelScript.bare), 'm', { tools: scriptedTools })
    expect(new Set(tool_calls.map(({ id }) => id)).size).toBe(2)
    for (const { id } of tool_calls) expect(id).not.toBe('')
  })

  test('[3.1-8] converts Gemini function calls both ways, with parallel calls, ids and thought signatures', async () => {
    const part = (functionCall: object, thoughtSignature: string) => ({ functionCall, thoughtSignature })
    const parts = [
      part({ id: 'g-1', name: 'get_time', args: {} }, 'sig-1'),
      part({ name: 'get_time', args: {} }, 'sig-2'),
    ]
    const { client, server } = await geminiAnswering([{ content: { role: 'model', parts }, finishReason: 'STOP' }])
    const { answer } = await loopOver(client)
    expect(answer.tool_calls).toHaveLength(2)
    const { contents } = sent<{ contents: { parts: object[] }[] }>(server)
    expect(contents[1]?.parts).toMatchObject([
      { functionCall: { name: 'get_time', args: {} }, thoughtSignature: 'sig-1' },
      { functionCall: { name: 'get_time', args: {} }, thoughtSignature: 'sig-2' },
    ])
    expect(contents[2]?.parts).toMatchObject([
      { functionResponse: { name: 'get_time' } },
      { functionResponse: { name: 'get_time' } },
    ])
    expect(JSON.stringify(contents)).toContain('g-1')
  })

  test("[3.1-9] converts Anthropic's tool_use and tool_result both ways", async () => {
    const server = await wireServer()
    const { start, openCall, closeCall, text, finish } = anthropicFrames
    server.replies = [
      streamed([...start, ...openCall('get_time', '{}'), ...closeCall('get_time', '{}'), ...finish('stop')]),
      streamed([...start, ...text('Noon.'), ...finish('stop')]),
    ]
    const { answer } = await loopOver(await openProvider({ type: 'anthropic', api_key: 'k', base_url: server.url }))
    expect(answer.content).toBe('Noon.')
    const { messages } = sent<{ messages: { content: object[] }[] }>(server)
    expect(messages[1]?.content).toMatchObject([{ type: 'tool_use', id: 'toolu_1', name: 'get_time', input: {} }])
    expect(messages[2]?.content).toMatchObject([{ type: 'tool_result', tool_use_id: 'toolu_1' }])
  })

  test('[3.1-10] delegates tool execution to the one executor', () =>
    onAll(async (type) => {
      const { answer, records } = await loopOver(await clientOf(type), modelScript.call.asked)
      expect(answer.content).toBe(modelScript.call.afterResults.text)
      expect(records()).toMatchObject([{ tool: 'get_weather' }])
    }))

  test('[3.1-11] runs no tool in a client', () =>
    onAll(async (type) => {
      const run = vi.fn()
      const { registry } = await withTools({ get_weather: { run, parameters: scriptedTools[0]?.parameters ?? {} } })
      const reply = await (await clientOf(type)).generateChat(asks(modelScript.call), 'm', { tools: registry.list() })
      expect(reply.tool_calls).toHaveLength(1)
      expect(run).not.toHaveBeenCalled()
    }))

  test('[3.1-12] retries a provider that answers 429 or 5xx, with backoff', async () => {
    for (const status of [429, 500, 503]) await retried(status)
  })

  async function retried(status: number): Promise<void> {
    const clock = new ManualClock()
    const log = captureLog()
    const server = await wireServer()
    const busy = json(status, { error: { message: 'Busy.' } })
    const { start, text, finish } = openaiChatFrames
    server.replies = [busy, busy, streamed([...start, ...text('Here.'), ...finish('stop')])]
    const client = await openProvider({ type: 'openai', base_url: server.url }, { clock, log })
    const reply = client.generateChat(asks(modelScript.text), 'm')
    for (const attempts of [1, 2]) {
      await vi.waitFor(() => expect(log.at('warn')).toHaveLength(attempts))
      clock.advance(2_000)
    }
    expect((await reply).content).toBe('Here.')
    const [first, second] = log.at('warn').map(({ wait_ms }) => wait_ms as number)
    expect(first).toBeLessThanOrEqual(500)
    expect(second).toBeGreaterThanOrEqual(500)
  }

  test('[3.1-13] names provider, model and remedy in a final failure', async () => {
    const server = await wireServer()
    server.replies = [json(401, { error: { message: 'Incorrect API key provided: sk-123.' } })]
    const client = await openProvider({ name: 'office', type: 'openai', base_url: server.url, api_key: 'sk-123' })
    const failure = await client.generateChat(asks(modelScript.text), 'gpt-x').catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ModelError)
    expect(String(failure)).toContain('office:gpt-x')
    expect(String(failure)).toContain('api_key')
    expect(String(failure)).not.toMatch(/sk-123|127\.0\.0\.1/)
  })

  test('[3.1-14] streams text deltas and tool calls as they are produced', () =>
    onAll(async (type) => {
      const model = (await clientOf(type)).model('m')
      const seen: string[] = []
      const controller = new AbortController()
      const request = { messages: asks(modelScript.slow), tools: [], signal: controller.signal }
      const reading = async () => {
        for await (const event of model.stream(request)) {
          if (event.type === 'text-delta') seen.push(event.text)
          if (seen.length === 2) controller.abort(new Error('seen enough'))
        }
      }
      await expect(reading()).rejects.toThrow('seen enough')
      expect(seen.join('').length).toBeLessThan(modelScript.slow.answer.text.length)
      const calls = await Array.fromAsync(model.stream({ messages: asks(modelScript.call), tools: scriptedTools }))
      expect(calls.map((event) => event.type)).toEqual(
        expect.arrayContaining(['tool-call-start', 'tool-call-end', 'finish']),
      )
    }))

  test('[3.1-15] reads providers from the configuration', async () => {
    const asked: IncomingHttpHeaders[] = []
    const server = createServer(({ headers }, response) => {
      asked.push(headers)
      response.end(JSON.stringify({ data: [{ id: 'small' }] }))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void server.close())
    const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    const config: Config = {
      providers: {
        openai: { api_key: '${OPENAI_API_KEY}' },
        office: {
          type: 'openai',
          base_url,
          api_key: '${OFFICE_KEY}',
          headers: { 'x-team': '${TEAM}' },
          timeout_ms: 9_000,
        },
      },
    }
    const { catalogue, log } = await configuredCatalogue(config, { OFFICE_KEY: 'k-1', TEAM: 'blue' })
    expect(await catalogue.discover('office')).toMatchObject([{ id: 'office:small' }])
    expect(asked).toMatchObject([{ authorization: 'Bearer k-1', 'x-team': 'blue' }])
    expect(catalogue.providers).toEqual(['openai', 'office', 'mini'])
    expect(log.at('warn')).toMatchObject([
      { provider: 'openai', problem: expect.stringContaining('OPENAI_API_KEY is not set') },
    ])
    await expect(catalogue.discover('openai')).rejects.toThrow('OPENAI_API_KEY is not set')
  })

  test('[3.1-16] reads models and prices from the configuration', async () => {
    const priced = {
      id: 'mini:priced',
      name: 'Priced',
      capabilities: ['function-calling'],
      prices: { input: 2.5, output: 10 },
    }
    const plain = { id: 'mini:plain', name: 'Plain', capabilities: [] }
    const { catalogue } = await configuredCatalogue({ models: [priced, plain] })
    expect(catalogue.list()).toMatchObject([priced, plain, { id: 'mini:v1' }])
    expect(catalogue.info('mini:priced').prices).toEqual({ input: 2.5, output: 10 })
    expect(() => checkConfig({ models: [{ ...plain, prices: { input: 1 } }] }, 'x.json')).toThrow(
      "x.json: missing 'models[0].prices.output'",
    )
  })

  test('[3.1-17] splits a model id at the first colon', async () => {
    const models = [{ id: 'ollama:llama3.2:3b', name: 'Llama', capabilities: [] }]
    const { catalogue } = await configuredCatalogue({ providers: { ollama: {} }, models })
    expect(catalogue.get('ollama:llama3.2:3b').id).toBe('ollama:llama3.2:3b')
    expect(catalogue.info('ollama:llama3.2:3b').name).toBe('Llama')
    expect(() => checkConfig({ models: [{ ...models[0], id: 'llama' }] }, 'x.json')).toThrow(
      "models[0].id 'llama' names no provider: write it as provider:model",
    )
  })

  test('[3.1-18] documents what each provider supports, and its limits', async () => {
    const page = await readFile(new URL('../docs/guides/providers.md', import.meta.url), 'utf8')
    for (const name of ['OpenAI', 'Anthropic', 'Gemini', 'Ollama'])
      expect(page).toMatch(new RegExp(`\\|.*${name}.*\\|`))
    for (const part of ['## What each supports', '## Known limits', '## The same tool on all of them']) {
      expect(page).toContain(part)
    }
  })
})
