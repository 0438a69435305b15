import { readFileSync } from 'node:fs'
import { FakeListChatModel } from '@langchain/core/utils/testing'
import { aiSdkModel, langchainModel, type Model, ModelError, openProvider } from 'toolyard'
import { scripted } from 'toolyard/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { scriptedLanguageModel } from '../src/models/fixtures/scripted-language-model.ts'
import { openaiChatFrames } from '../src/models/fixtures/wire-frames.ts'
import { startWireServer, streamed } from '../src/models/fixtures/wire-server.ts'
import { replying, withKnowledgeTools } from './fixtures/knowledge.ts'
import { configured, mock } from './fixtures/tool-manager.ts'

/** Each tool with a call, a good reply, what it gives, and what it gives where the reply cannot be used. */
const TOOLS = [
  ['summarize', { text: 'Long.' }, '{"summary": "Short."}', { summary: 'Short.' }, { format: 'paragraph' }],
  [
    'extract_entities',
    { text: 'Ada', entity_types: ['people'] },
    '{"entities": {"people": ["Ada"]}}',
    { entities: { people: ['Ada'] } },
    { entities: { people: [] } },
  ],
  [
    'classify_intent',
    { text: 'Hello' },
    '{"intent": "greeting", "confidence": 1}',
    { intent: 'greeting', confidence: 1 },
    { intent: 'unknown', confidence: 0 },
  ],
  [
    'tag_chunk_docs',
    { content: 'Ada' },
    '{"tags": ["names"]}',
    { chunks: [{ index: 0, text: 'Ada', tags: ['names'] }] },
    { chunks: [{ index: 0, text: 'Ada', tags: [] }] },
  ],
] as const

/** The same reply from a model of every origin. */
async function models(reply: string): Promise<Model[]> {
  const parts = [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: reply },
    {
      type: 'finish',
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
    },
  ] as never
  const server = await startWireServer()
  onTestFinished(() => server.stop())
  const { start, text, finish } = openaiChatFrames
  server.replies = [streamed([...start, ...text(reply), ...finish('stop')])]
  const provider = await openProvider({ type: 'openai', base_url: server.url })
  return [
    scripted(reply),
    aiSdkModel(scriptedLanguageModel('v4', parts).model),
    langchainModel(new FakeListChatModel({ responses: [reply] })),
    provider.model('some-model'),
  ]
}

describe('All five', () => {
  test('[7.1-1] U10 the configuration that ships has the tools, another one those that it lists', async () => {
    const names = [...TOOLS.map(([name]) => name), 'ingest_docs']
    const { registry: shipped } = JSON.parse(
      readFileSync(new URL('../toolyard.config.json', import.meta.url), 'utf8'),
    ).tools
    const { registry, log } = await configured(shipped)
    expect(registry.definitions().map(({ name }) => name)).toEqual(expect.arrayContaining(names))
    for (const name of names) expect(registry.get(name)?.implementation?.type).toBe('builtin')
    expect(log.lines).toEqual([])
    // Nothing joins unasked, whatever model is configured.
    const providers = { own: { type: 'openai', base_url: 'http://127.0.0.1:9' } }
    for (const config of [
      {},
      { providers, responses: [{ llm: 'own', model: 'some-model', prompt: 'Be kind.' }] },
      { providers, knowledge: { model: 'own:some-model' } },
    ]) {
      expect((await configured([], { config })).registry.list()).toEqual([])
      const some = await configured(['summarize', 'ingest_docs'], { config })
      expect(some.registry.list()).toMatchObject([{ name: 'summarize' }, { name: 'ingest_docs' }])
    }
    // A definition of the configuration's own stays.
    const own = await configured([mock('summarize', 'mine')])
    expect(await own.execute('summarize', { text: 'Long.' })).toMatchObject({ result: 'mine' })
    expect((await configured(names, { enabled: false })).registry.list()).toEqual([])
    // A tenant can be kept from each of them.
    const flags = { ingest_docs: false }
    const listed = await configured(['ingest_docs'])
    const refused = await listed.execute('ingest_docs', { content: 'A' }, { tenant: 'acme', flags })
    expect(refused).toMatchObject({ error_code: 'PERMISSION_DENIED' })
  })

  test('[7.1-5] works by rules without a model, and says which of the two it used', async () => {
    const names = TOOLS.map(([name]) => name)
    const server = await startWireServer()
    onTestFinished(() => server.stop())
    const { start, text, finish } = openaiChatFrames
    server.replies = [streamed([...start, ...text('{"summary": "Short."}'), ...finish('stop')])]
    const providers = { own: { type: 'openai', base_url: server.url } }
    const asked = await configured(names, { config: { providers, knowledge: { model: 'own:some-model' } } })
    expect(await asked.execute('summarize', { text: 'Long.' })).toMatchObject({
      result: { summary: 'Short.', method: 'model' },
    })
    const plain = await configured(names, { config: { responses: [{ llm: 'mini', model: 'v1', prompt: '' }] } })
    const found = [
      { summary: 'Ada Lovelace lived in London.' },
      { entities: { people: ['Ada Lovelace'], places: ['London'], organizations: [] } },
      { intent: 'other' },
      { chunks: [{ tags: expect.arrayContaining(['london']) }] },
    ]
    for (const [index, name] of names.entries()) {
      const params = { [name === 'tag_chunk_docs' ? 'content' : 'text']: 'Ada Lovelace lived in London.' }
      expect(await plain.execute(name, params)).toMatchObject({ result: { ...found[index], method: 'embedded' } })
    }
  })

  test('[7.1-2] works with any model', async () => {
    for (const [name, params, reply, result] of TOOLS) {
      for (const model of await models(reply)) {
        const { execute } = await withKnowledgeTools(model)
        expect(await execute(name, params)).toMatchObject({ success: true, result })
      }
    }
    // One whose provider knows no schemas for answers, and one that is not there.
    const { execute } = await replying(
      new ModelError('No such thing.', { status: 400 }),
      '{"summary": "Short."}',
      new ModelError('Busy.', { status: 429, retryable: true }),
    )
    expect(await execute('summarize', { text: 'Long.' })).toMatchObject({ result: { summary: 'Short.' } })
    expect(await execute('summarize', { text: 'Long.' })).toMatchObject({ error_code: 'SERVICE_UNAVAILABLE' })
  })

  test('[7.1-3] reads replies in code fences', async () => {
    for (const [name, params, reply, result] of TOOLS) {
      for (const fenced of [
        `\`\`\`json\n${reply}\n\`\`\``,
        `Here you are:\n\`\`\`\n${reply}\n\`\`\`\nAnything else?`,
      ]) {
        const { execute, model } = await replying(fenced)
        expect(await execute(name, params)).toMatchObject({ success: true, result })
        expect(model.requests).toHaveLength(1)
      }
    }
  })

  test('[7.1-4] gives the fallback for an empty or malformed reply', async () => {
    const malformed = ['{"pwned": true}', '{', '[[[', 'null', '{"a": {"b": ', { calls: [{ name: 'delete_all' }] }, '']
    for (const [name, params, , , fallback] of TOOLS) {
      for (const reply of malformed) {
        const { execute } = await replying(reply, reply)
        expect(await execute(name, params)).toMatchObject({ success: true, result: fallback })
      }
    }
  })
})
