import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  AnthropicClient,
  type Config,
  GeminiClient,
  type Message,
  type Model,
  type ModelEvent,
  OllamaClient,
  OpenAIClient,
  openProvider,
  silentLog,
  ToolHandlers,
  ToolLoop,
  ToolManager,
} from 'toolyard'
import { ManualClock, scripted, wordEmbedder } from 'toolyard/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { startOllamaServer } from '../src/models/fixtures/ollama-server.ts'
import { openScriptedServer } from '../src/server/fixtures/open-scripted-server.ts'
import { captureLog } from '../src/testing/stand-ins.ts'
import { dataFolder, haveData } from '../test/data/real-tools.ts'
import { runCommand } from './fixtures/command-line.ts'
import { openaiModel, withServer } from './fixtures/server.ts'
import { withTools } from './fixtures/tool-manager.ts'

const ORIGINAL = join(dataFolder, 'original-configurations')

/** Opens a configuration on a machine without any variables but these. */
async function open(config: Config, env: Record<string, string> = {}) {
  const log = captureLog()
  const manager = new ToolManager(config, { log, env })
  onTestFinished(() => manager.close())
  return { manager, log, report: await manager.loadTools() }
}

/** The original configurations as they are; single definitions inside `tools.registry`. */
function originals(): [string, Config][] {
  if (!haveData()) return []
  return readdirSync(ORIGINAL).map((file) => {
    const content = JSON.parse(readFileSync(join(ORIGINAL, file), 'utf8'))
    return [file, 'implementation' in content ? { tools: { enabled: true, registry: [content] } } : content]
  })
}

describe('18.1 Requirements', () => {
  test('[18.1-1] S1 the five text tools are in the shipped configuration and work without a language model', async () => {
    const shipped = JSON.parse(readFileSync(new URL('../toolyard.config.json', import.meta.url), 'utf8')) as Config
    const { manager } = await open({ ...shipped, knowledge: { embedder: 'none' } })
    const names = manager
      .getRegistry()
      .definitions()
      .map(({ name }) => name)
    const five = ['summarize', 'extract_entities', 'classify_intent', 'tag_chunk_docs', 'ingest_docs']
    expect(names).toEqual(expect.arrayContaining(five))
    const text = 'Toolyard runs tools for models. It was made in Zurich by Ada Lovelace. It validates every call.'
    const execute = manager.getExecutor().execute.bind(manager.getExecutor())
    expect(await execute('summarize', { text })).toMatchObject({ success: true, result: { method: 'embedded' } })
    expect(await execute('extract_entities', { text })).toMatchObject({ result: { method: 'embedded' } })
    expect(await execute('tag_chunk_docs', { content: text })).toMatchObject({ result: { method: 'embedded' } })
    const own = await open({ tools: { enabled: true, registry: [] } })
    expect(own.manager.getRegistry().list()).toEqual([])
  })

  test('[18.1-11] S13 classify_intent has default categories', async () => {
    const { manager } = await open({ tools: { enabled: true, registry: ['classify_intent'] } })
    const classified = await manager.getExecutor().execute('classify_intent', { text: 'What time is it?' })
    expect(classified).toMatchObject({ result: { intent: 'question', method: 'embedded' } })
  })

  test('[18.2-6] U12 the mock weather follows units', async () => {
    const shipped = JSON.parse(readFileSync(new URL('../toolyard.config.json', import.meta.url), 'utf8')) as Config
    const { manager } = await open({ ...shipped, knowledge: { embedder: 'none' } })
    const weather = (units: string) => manager.getExecutor().execute('get_weather', { location: 'Paris', units })
    expect(await weather('celsius')).toMatchObject({ result: { temperature: 22 } })
    expect(await weather('fahrenheit')).toMatchObject({ result: { temperature: 72 } })
  })

  test('[18.1-2] S2 the original configurations start as they are, and a provider needs its variable only', async () => {
    const variables = { API_TOKEN: 'a', WEATHER_API_KEY: 'b' }
    for (const [file, config] of originals()) {
      const { report } = await open(config, variables)
      expect(report.skipped, file).toEqual([])
    }
    const config: Config = { responses: [{ llm: 'openai', model: 'gpt-4o', prompt: 'Be kind.' }] }
    const { manager, log } = await open(config)
    await manager.warm()
    const models = await manager.getModels()
    await models.discover('openai').catch(() => {})
    const disabled = log.lines.filter(({ message }) => message === 'Provider disabled')
    expect(disabled).toHaveLength(1)
    expect(disabled[0]?.fields).toMatchObject({ problem: expect.stringContaining('OPENAI_API_KEY is not set') })
    const asked = models.get('openai:gpt-4o').stream({ messages: [], tools: [] })
    await expect(asked[Symbol.asyncIterator]().next()).rejects.toThrow('OPENAI_API_KEY is not set')
    for (const llm of ['openai', 'anthropic', 'gemini', 'google', 'ollama']) {
      const named = await open({ responses: [{ llm, model: 'x', prompt: 'Be kind.' }] }, { GOOGLE_API_KEY: 'k' })
      expect((await named.manager.getModels()).providers).toContain(llm)
    }
    expect(() => new ToolManager({ responses: [{ llm: 'openia', model: 'x', prompt: 'p' }] })).toThrow('openia')
  })

  test('[18.1-3] S2 a definition without a description or parameters gets its name in words and its parameters', async () => {
    const implementation = { type: 'http', url: 'https://api.example.com/{city}', params_mapping: { units: 'u' } }
    const { manager, report } = await open({
      tools: { enabled: true, registry: [{ name: 'get_weather', implementation }] },
    })
    const [tool] = manager.getRegistry().definitions()
    expect(tool).toMatchObject({ description: 'Get weather', parameters: { required: ['city'] } })
    expect(Object.keys(tool?.parameters.properties ?? {})).toEqual(['city', 'units'])
    expect(report.warnings).toHaveLength(2)
  })

  test('[18.1-4] S3 every model that a rule names is listed, and unknown models are refused', async () => {
    const { config } = await openaiModel('Hello.')
    const responses = [{ llm: 'openai', model: 'gpt-5', prompt: 'Be kind.' }]
    const { ask, post } = await withServer([], { ...config, responses })
    for (const path of ['/api/models/list', '/v1/models']) {
      const { models, data } = (await ask(path)).body
      expect((models ?? data).map(({ id }: Model) => id)).toEqual(['openai:gpt-4o', 'openai:gpt-5', 'mini:v1'])
    }
    const tested = await post('/api/tools/test', { model: 'openai:gpt-5', query: 'Hi' })
    const recorded = await post('/api/tools/validate', { model: 'openai:gpt-5', success: true })
    expect([tested.status, recorded.status]).toEqual([200, 200])
    for (const model of ['openai:gpt-6', 'opnai:gpt-5', 'mini:v2', 'gpt-5']) {
      const { status, body } = await post('/api/tools/validate', { model, success: true })
      expect([status, body.error]).toEqual([400, expect.stringMatching(/did you mean '(openai:gpt-[45]o?|mini:v1)'/)])
    }
  })
  test('[18.1-5] S5 a failed provider is an HTTP error', async () => {
    const { url } = await openScriptedServer([
      new Error('down'),
      new Error('down'),
      new Error('down'),
      new Error('down'),
    ])
    const post = async (path: string, body: object, accept = 'application/json') => {
      const headers = { 'content-type': 'application/json', accept }
      return (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).status
    }
    const messages = [{ role: 'user', content: 'Hi' }]
    expect(await post('/chat', { message: 'Hi' })).toBe(502)
    expect(await post('/chat', { message: 'Hi' }, 'text/event-stream')).toBe(502)
    expect(await post('/api/tools/test', { query: 'Hi', model: 'scripted:turns' })).toBe(500)
    expect(await post('/v1/chat/completions', { model: 'scripted:turns', messages })).toBe(502)
  })
  test('[18.1-6] S6 S7 toolyard check reports what is wrong with a configuration', async () => {
    const responses = [{ llm: 'openai', model: 'gpt-4o', prompt: '{{user_mesage}}' }]
    const found = await runCommand({ tools: { enabled: true }, responses }, 'check', '--strict')
    expect(found.status).toBe(1)
    expect(found.stdout).toContain("did you mean '{{user_message}}'?")
    const { log } = await open({ tools: { enabled: true }, responses })
    expect(JSON.stringify(log.lines)).toContain('{{user_message}}')
  })
  test('[18.1-7] S8 broken tools are never offered, and are marked with the reason', async () => {
    const tool = (name: string, implementation: object, parameters: object = { type: 'object' }) => ({
      ...{ name, description: name, parameters },
      implementation: { type: 'internal', ...implementation },
    })
    const registry = [
      tool('good', { type: 'mock', mock_response: 1 }),
      tool('no_handler', { handler: 'later' }),
      tool('no_kind', { type: 'mokc' }),
      tool('blocked', { type: 'http', url: 'http://10.0.0.1/x' }),
      tool('bad_schema', { type: 'mock', mock_response: 1 }, { type: 'object', properties: { a: { $ref: '#/none' } } }),
    ]
    const handlers = new ToolHandlers()
    const manager = new ToolManager({ tools: { enabled: true, registry } }, { log: silentLog, handlers })
    onTestFinished(() => manager.close())
    await manager.loadTools()
    manager.getExecutor().check('bad_schema')
    const reason = (name: string) => manager.getRegistry().brokenReason(name)
    expect(reason('no_handler')).toBe("Internal handler 'later' not found")
    expect(reason('no_kind')).toBe('Unknown implementation type: mokc')
    expect(reason('blocked')).toContain('blocked by network policy')
    expect(reason('bad_schema')).toBeDefined()
    const offered = async () => {
      const model = scripted('Hello.')
      await manager.getLoop().answer({ model, messages: [{ role: 'user', content: 'Hi' }] })
      return model.requests[0]?.tools.map(({ name }) => name)
    }
    expect(await offered()).toEqual(['good'])
    handlers.register('later', async () => 'now')
    expect(await offered()).toEqual(['good', 'no_handler'])
  })
  test('[18.1-8] S9 every shipped tool has a contract page', async () => {
    const shipped = JSON.parse(readFileSync(new URL('../toolyard.config.json', import.meta.url), 'utf8')) as Config
    const { manager } = await open({ ...shipped, knowledge: { embedder: 'none' } })
    for (const { name } of manager.getRegistry().definitions()) {
      const page = readFileSync(new URL(`../docs/reference/tools/${name}.md`, import.meta.url), 'utf8')
      expect(page).toContain(`# ${name}`)
    }
  })

  test('[18.1-9] S10 ingest_docs of 100 chunks works within its deadline with a slow embedding model', async () => {
    const clock = new ManualClock()
    const words = wordEmbedder({ batch: 10 })
    const embed: typeof words.embed = (_texts, _purpose, signal) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal?.reason)))
    const embedder = { ...words, embed: vi.fn(embed) }
    const config: Config = { tools: { enabled: true, registry: ['ingest_docs'] } }
    const manager = new ToolManager(config, { log: silentLog, clock, embedder })
    onTestFinished(() => manager.close())
    await manager.loadTools()
    const content = Array.from({ length: 100 }, (_, at) => `# Part ${at}\n\nA stone of number ${at}.`).join('\n\n')
    const storing = manager.getExecutor().execute('ingest_docs', { content, chunk_size: 50 })
    await vi.waitFor(() => expect(embedder.embed).toHaveBeenCalled())
    clock.advance(36_000)
    expect(await storing).toMatchObject({ success: true, result: { chunks: 100, without_vector: 100 } })
  })

  test('[18.1-10] S11 arguments that are not JSON are answered with the position of the error', async () => {
    const { registry, executor, log } = await withTools({ weather: { run: async () => 'sunny' } })
    const loop = new ToolLoop(registry, executor, { log })
    const call = { id: 'c', type: 'function' as const, function: { name: 'weather', arguments: '{"place": Paris}' } }
    const turns: ModelEvent[][] = [
      [
        { type: 'tool-call-end', call },
        { type: 'finish', reason: 'tool_calls' },
      ],
      [{ type: 'finish', reason: 'error', raw_reason: 'melted' }],
    ]
    const model: Model = {
      id: 'test:model',
      async *stream() {
        yield* turns.shift() ?? []
      },
    }
    const { tool_calls } = await loop.answer({ model, messages: [{ role: 'user', content: 'Go' }] })
    expect(tool_calls[0]?.result).toMatchObject({
      error_code: 'INVALID_PARAMETERS',
      error:
        'Invalid parameters: the parameters are not valid JSON: unexpected "Paris}" at position 10 (line 1, column 11). ' +
        'Send one JSON object',
    })
    const [unexpected] = log.lines.filter(({ message }) => message === 'Unexpected finish reason')
    expect(unexpected?.fields).toMatchObject({ finish_reason: 'error', raw_finish_reason: 'melted' })
  })

  test('[18.1-10] S11 the reason of a provider is kept as it is', async () => {
    const server = await startOllamaServer(() => ({
      parts: [{ message: { role: 'assistant', content: 'x' }, done: true, done_reason: 'melted' }],
    }))
    onTestFinished(() => server.stop())
    const provider = await openProvider({ type: 'ollama', base_url: server.url })
    const events: ModelEvent[] = []
    for await (const event of provider.model('m').stream({ messages: [{ role: 'user', content: 'Go' }], tools: [] })) {
      events.push(event)
    }
    expect(events.at(-1)).toMatchObject({ type: 'finish', reason: 'error', raw_reason: 'melted' })
  })

  test('[18.1-12] S14 the provider clients are exported, and a message without a role is a user message', async () => {
    const server = await startOllamaServer(() => ({
      parts: [{ message: { role: 'assistant', content: 'Hello' }, done: true, done_reason: 'stop' }],
    }))
    onTestFinished(() => server.stop())
    const client = new OllamaClient({ base_url: server.url })
    expect(await client.generateChat([{ content: 'Hi' } as Message], 'm')).toMatchObject({ content: 'Hello' })
    expect(server.requests[0]?.body.messages).toMatchObject([{ role: 'user', content: 'Hi' }])
    for (const Client of [OpenAIClient, AnthropicClient, GeminiClient]) {
      const asked = new Client({ api_key: '' }).generateChat([], 'm')
      await expect(asked).rejects.toThrow('has no api_key')
    }
  })
})
