import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readStream } from '../../testing/model-contract.ts'
import { aiSdkModel } from '../ai-sdk/ai-sdk-model.ts'
import { askOllama, done, part, parts, wireTo } from '../fixtures/ollama-wire.ts'
import { ScriptedChatModel } from '../fixtures/scripted-chat-model.ts'
import { scriptedLanguageModel } from '../fixtures/scripted-language-model.ts'
import {
  anthropicFrames,
  geminiFrames,
  openaiChatFrames,
  openaiResponsesFrames,
  type WireFrames,
} from '../fixtures/wire-frames.ts'
import { wireModel } from '../fixtures/wire-model.ts'
import { startWireServer, streamed, type WireServer } from '../fixtures/wire-server.ts'
import { langchainModel } from '../langchain/langchain-model.ts'
import type { ModelRequest } from '../model.ts'
import { anthropicWire, geminiWire, openaiWire } from './hosted.ts'
import { openProvider } from './open-provider.ts'

const schema = {
  type: 'object',
  properties: { town: { type: 'string' } },
  required: ['town'],
  additionalProperties: false,
}
const written = '{"town":"Oslo"}'
const plain: ModelRequest = { messages: [{ role: 'user', content: 'Say hello.' }], tools: [] }
const shaped: ModelRequest = { ...plain, response_schema: schema }

describe('the shape of the answer goes over the wire', () => {
  let server: WireServer
  beforeAll(async () => {
    server = await startWireServer()
  })
  afterAll(() => server.stop())
  beforeEach(() => {
    server.requests.length = 0
  })

  const cases = [
    {
      wire: 'OpenAI, chat',
      make: () => wireModel(openaiWire, { base_url: server.url }),
      frames: openaiChatFrames,
      sent: { response_format: { type: 'json_schema', json_schema: { schema, strict: true, name: 'response' } } },
    },
    {
      wire: 'OpenAI, responses',
      make: () => wireModel(openaiWire, { base_url: server.url, api: 'responses' }),
      frames: openaiResponsesFrames,
      sent: { text: { format: { type: 'json_schema', schema, strict: true, name: 'response' } } },
    },
    {
      wire: 'Anthropic',
      make: () => wireModel(anthropicWire, { base_url: server.url }, 'claude-sonnet-4-5'),
      frames: anthropicFrames,
      sent: { output_config: { format: { type: 'json_schema', schema } } },
    },
    {
      wire: 'Gemini',
      make: () => wireModel(geminiWire, { base_url: server.url }),
      frames: geminiFrames,
      sent: { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: schema } },
    },
  ] as const

  test.each(cases)('$wire', async ({ make, frames, sent }) => {
    server.replies = [streamed([...frames.start, ...frames.text(written), ...frames.finish('stop')])]
    const model = await make()
    expect(await readStream(model, shaped)).toMatchObject({ text: written, calls: [], finish: { reason: 'stop' } })
    expect(server.requests[0]?.body).toMatchObject(sent)
    await readStream(model, plain)
    for (const key of Object.keys(sent)) {
      const [first, second] = server.requests.map(({ body }) => JSON.stringify(Reflect.get(Object(body), key)))
      expect(second).not.toBe(first)
    }
  })

  test('models of Anthropic that know no such thing write it as the arguments of a call, which is read as text', async () => {
    const { start, openCall, closeCall, finish } = anthropicFrames
    server.replies = [
      streamed([...start, ...openCall('json', written), ...closeCall('json', written), ...finish('stop')]),
    ]
    const model = await wireModel(anthropicWire, { base_url: server.url }, 'claude-3-haiku-20240307')
    expect(await readStream(model, shaped)).toMatchObject({ text: written, calls: [], finish: { reason: 'stop' } })
    expect(server.requests[0]?.body).toMatchObject({
      tools: [{ name: 'json', input_schema: schema }],
      tool_choice: { type: 'any' },
    })
  })

  test('Ollama', async () => {
    const { wire, server: ollama } = await wireTo(parts(part({ content: written }), done()))
    expect((await askOllama(wire, shaped)).text).toBe(written)
    expect(ollama.requests[0]?.body).toMatchObject({ format: schema })
    await askOllama(wire, plain)
    expect(ollama.requests[1]?.body).not.toHaveProperty('format')
  })

  test('only what a provider can enforce, in its own dialect', async () => {
    const loose = { type: 'object', properties: { town: { type: 'string', minLength: 2 }, zip: { type: 'string' } } }
    const look = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }
    const settings = { base_url: server.url, api_key: 'key' }
    const bodyOf = async (type: string, name: string, frames: WireFrames, request: object) => {
      server.replies = [streamed([...frames.start, ...frames.text(written), ...frames.finish('stop')])]
      const model = (await openProvider({ type, ...settings })).model(name)
      await readStream(model, { ...shaped, ...request })
      const { tools = [], response_schema = schema } = request as Partial<ModelRequest>
      return { sent: server.requests.at(-1)?.body, enforced: model.enforces?.(response_schema, tools.length > 0) }
    }
    const openai = await bodyOf('openai', 'gpt', openaiChatFrames, { response_schema: loose, tools: [look] })
    const json_schema = { schema: loose, strict: false }
    expect(openai).toMatchObject({ enforced: true, sent: { response_format: { type: 'json_schema', json_schema } } })
    const claude = ['anthropic', 'claude-sonnet-4-5', anthropicFrames] as const
    expect(await bodyOf(...claude, { tools: [look] })).toMatchObject({ enforced: true, sent: { output_config: {} } })
    const unfit = await bodyOf(...claude, { response_schema: loose })
    expect([unfit.enforced, Object(unfit.sent).output_config]).toEqual([false, undefined])
    const gemini = await bodyOf('gemini', 'gemini', geminiFrames, { tools: [look] })
    expect([gemini.enforced, Object(gemini.sent).generationConfig.responseJsonSchema]).toEqual([false, undefined])
  })

  test('that a tool must be called', async () => {
    const look = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }
    const sent = [
      { tool_choice: 'required' },
      { tool_choice: 'required' },
      { tool_choice: { type: 'any' } },
      { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
    ]
    for (const [index, { make, frames }] of cases.entries()) {
      server.replies = [streamed([...frames.start, ...frames.text('x'), ...frames.finish('stop')])]
      await readStream(await make(), { ...plain, tools: [look], tool_choice: 'required' })
      expect(server.requests.at(-1)?.body).toMatchObject(sent[index] as object)
    }
  })

  test('through a provider as it is configured', async () => {
    const { start, text, finish } = openaiChatFrames
    server.replies = [streamed([...start, ...text(written), ...finish('stop')])]
    const provider = await openProvider({ type: 'openai', base_url: server.url })
    const { content } = await provider.generateChat(plain.messages, 'some-model', { response_schema: schema })
    expect(content).toBe(written)
    expect(server.requests[0]?.body).toMatchObject({ response_format: { type: 'json_schema' } })
  })
})

describe('the shape of the answer goes to models of others', () => {
  test.each(['v2', 'v3', 'v4'] as const)('of the AI SDK, specification %s', async (version) => {
    const { model, asked } = scriptedLanguageModel(version)
    await readStream(aiSdkModel(model), shaped)
    await readStream(aiSdkModel(model), plain)
    expect(asked.map(({ responseFormat }) => responseFormat)).toEqual([{ type: 'json', schema }, undefined])
  })

  test('not to those of LangChain, which have no common word for it', async () => {
    const model = new ScriptedChatModel()
    expect((await readStream(langchainModel(model), shaped)).text).not.toBe('')
    expect(JSON.stringify(model.asked?.options)).not.toContain('town')
  })

  test('nor to the one in the box, which writes no text', async () => {
    const client = await openProvider({ type: 'mini' })
    const both = await Promise.all([shaped, plain].map((request) => readStream(client.model('v0'), request)))
    expect(both[0]?.text).toBe(both[1]?.text)
  })
})
