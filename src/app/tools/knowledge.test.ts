import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ConfigError, checkConfig } from '../../config/check-config.ts'
import type { Config } from '../../config/config.ts'
import { knowledgeModel } from '../../config/model-settings.ts'
import { json, startWireServer } from '../../models/fixtures/wire-server.ts'
import { captureLog, wordEmbedder } from '../../testing/stand-ins.ts'
import type { Parts } from './assemble.ts'
import { ToolManager } from './tool-manager.ts'

const ollama = { providers: { office: { type: 'ollama' } } }
const rule = (llm: string, model = 'm') => ({ llm, model, prompt: '' })

async function manage(config: Config, parts: Parts = {}) {
  const log = captureLog()
  const manager = new ToolManager({ tools: { enabled: true }, ...config }, { log, ...parts })
  await manager.loadTools()
  const execute = (name: string, params: object) => manager.getExecutor().execute(name, params)
  return { manager, log, execute }
}

describe('the section knowledge', () => {
  test.each<[string, Config]>([
    ['nothing', { knowledge: {} }],
    [
      'a model and an embedder',
      { ...ollama, knowledge: { model: 'office:llama3', embedder: 'office:nomic-embed-text' } },
    ],
    ['the local embedder', { knowledge: { embedder: 'local:minilm-l6-v2' } }],
    ['no embedder', { knowledge: { embedder: 'none' } }],
  ])('accepts %s', (_, config) => {
    expect(checkConfig(config, 'x.json')).toBe(config)
  })

  test.each<[string, object, string]>([
    ['a key that there is not', { modle: 'a:b' }, "unknown key 'knowledge.modle': did you mean 'model'?"],
    ['a model without provider', { model: 'gpt-4o' }, "knowledge.model 'gpt-4o' names no provider"],
    [
      'a provider that there is not',
      { model: 'offic:m' },
      "knowledge.model: Provider offic not found: did you mean 'office'?",
    ],
    ['a model that cannot write', { model: 'mini:v1' }, "knowledge.model 'mini:v1' can't write text"],
    ['an embedder without provider', { embedder: 'minilm' }, "knowledge.embedder 'minilm' names no provider"],
    ['an embedder of nobody', { embedder: 'x:y' }, 'knowledge.embedder: Provider x not found'],
    [
      'an embedder of a provider without embedding models',
      { embedder: 'claude:y' },
      "'claude:y': claude has no embedding models. Use a provider of type openai, gemini, ollama.",
    ],
  ])('refuses %s', (_, knowledge, problem) => {
    const config = { providers: { ...ollama.providers, claude: { type: 'anthropic' } }, knowledge }
    expect(() => checkConfig(config, 'x.json')).toThrow(ConfigError)
    expect(() => checkConfig(config, 'x.json')).toThrow(problem)
  })

  test.each<[string | undefined, Config]>([
    [undefined, {}],
    [undefined, { responses: [rule('mini', 'v1')] }],
    [undefined, { providers: { mine: { type: 'mini' } }, responses: [rule('mine')] }],
    ['office:m', { ...ollama, responses: [rule('office')] }],
    ['office:m', { ...ollama, responses: [rule('mini', 'v1'), rule('office')] }],
    ['office:x', { ...ollama, models: [{ id: 'office:x', name: 'x', capabilities: [] }] }],
    ['office:best', { ...ollama, knowledge: { model: 'office:best' }, responses: [rule('office')] }],
  ])('the tools use %s', (model, config) => {
    expect(knowledgeModel(config)).toBe(model)
  })
})

test('without a store, collections live in a temporary folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'config-knowledge-'))
  vi.stubEnv('TMPDIR', folder)
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await rm(folder, { recursive: true })
  })
  const { manager } = await manage({}, { embedder: wordEmbedder() })
  const collections = manager.getCollections()
  expect(await readdir(folder)).toEqual([])
  await collections.ingest({ tenant: 'local', collection: 'wiki', content: 'A stone.' })
  const question = { tenant: 'local', collection: 'wiki', query: 'stone', most: 5 }
  expect((await collections.search(question)).results).toHaveLength(1)
  expect(await readdir(folder)).toEqual([expect.stringMatching(/^toolyard-knowledge-/)])
  await manager.close()
  expect(await readdir(folder)).toEqual([])
})

test("doesn't close an embedder of the host application", async () => {
  const embedder = wordEmbedder()
  const { manager } = await manage({}, { embedder })
  await manager.getCollections().ingest({ tenant: 'local', collection: 'wiki', content: 'A stone.' })
  await manager.close()
  expect(embedder.closed).toBe(false)
})

test('uses a configured embedder with the variables of its provider', async () => {
  const server = await startWireServer()
  onTestFinished(() => server.stop())
  const answer = { object: 'list', model: 'e', data: [{ object: 'embedding', index: 0, embedding: [0.6, 0.8] }] }
  server.replies = [json(200, answer)]
  const providers = { own: { type: 'openai', base_url: '${EMBED_URL}', api_key: '${EMBED_KEY}' } }
  const config = { providers, knowledge: { embedder: 'own:e' } }
  const { manager } = await manage(config, { env: { EMBED_URL: server.url, EMBED_KEY: 'secret' } })
  onTestFinished(() => manager.close())
  await manager.getCollections().ingest({ tenant: 'local', collection: 'wiki', content: 'A stone.' })
  expect(await manager.getCollections().list('local')).toContainEqual(
    expect.objectContaining({ name: 'wiki', embedder: 'own:e', dimensions: 2, without_vector: 0 }),
  )
  expect(server.requests.at(-1)?.headers.authorization).toBe('Bearer secret')
})

test('an embedder with a missing variable fails with a message, and search falls back to full text', async () => {
  const providers = { own: { type: 'openai', api_key: '${EMBED_KEY}' } }
  const { manager, execute } = await manage(
    {
      tools: { enabled: true, registry: ['ingest_docs'] },
      providers,
      knowledge: { embedder: 'own:e', model: 'own:m' },
    },
    { env: {} },
  )
  onTestFinished(() => manager.close())
  expect(await execute('ingest_docs', { content: 'A stone.' })).toMatchObject({
    success: false,
    error: expect.stringContaining('EMBED_KEY'),
  })
  const question = { tenant: 'local', collection: 'docs', query: 'deadline of a call', most: 5 }
  expect(await manager.getCollections().search(question)).toMatchObject({ by: 'text' })
})

describe('ingest_docs', () => {
  const named = (manager: ToolManager) =>
    manager
      .getRegistry()
      .definitions()
      .map(({ name }) => name)
  const models = [{ id: 'office:m', name: 'M', capabilities: ['function-calling'] }]

  test('exists only if the registry lists it', async () => {
    for (const config of [{}, { responses: [rule('mini', 'v1')] }, { ...ollama, models }]) {
      const without = await manage(config)
      expect(named(without.manager)).not.toContain('ingest_docs')
      const { manager } = await manage({ ...config, tools: { enabled: true, registry: ['ingest_docs'] } })
      expect(await manager.loadTools()).toEqual({ loaded: ['ingest_docs'], skipped: [], warnings: [] })
      expect(manager.getExecutor().effectOf('ingest_docs')).toBe('idempotent')
    }
  })

  test('skips an unknown name with a suggestion', async () => {
    const { manager } = await manage({ tools: { enabled: true, registry: ['ingest_doc', 'x'] } })
    const { loaded, skipped } = await manager.loadTools()
    expect([loaded, skipped]).toEqual([
      [],
      [
        { name: 'tools.registry[0]', problem: "There is no shipped tool 'ingest_doc': did you mean 'ingest_docs'?" },
        {
          name: 'tools.registry[1]',
          problem: expect.stringMatching(/^There is no shipped tool 'x': known tools are /),
        },
      ],
    ])
  })
})
