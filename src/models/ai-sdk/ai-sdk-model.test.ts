import { createOpenAI } from '@ai-sdk/openai'
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { image } from '../../core/fixtures/media.ts'
import { modelContract, readStream } from '../../testing/model-contract.ts'
import { startAimock } from '../fixtures/aimock-server.ts'
import type { RecordingProxy } from '../fixtures/recording-proxy.ts'
import { scriptedLanguageModel } from '../fixtures/scripted-language-model.ts'
import type { Message } from '../model.ts'
import { ModelError } from '../model-error.ts'
import { aiSdkModel, askAiSdk } from './ai-sdk-model.ts'

const user: Message = { role: 'user', content: 'Hello?' }
const request = { messages: [user], tools: [] }
const finish: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined },
  },
}
const scripted = (...parts: LanguageModelV4StreamPart[]) => aiSdkModel(scriptedLanguageModel('v4', parts).model)

describe.each(['v2', 'v3', 'v4'] as const)('a language model of specification %s', (version) => {
  const one = scriptedLanguageModel(version)
  const offered = () => (one.asked.at(-1)?.tools ?? []).map(({ name }) => name)
  const contract = modelContract({ make: () => aiSdkModel(one.model), offered, brokenOff: one.brokenOff })
  test.each(contract)('$name', ({ run }) => run())

  test('says what it cost', async () => {
    const { finish: end } = await readStream(aiSdkModel(scriptedLanguageModel(version).model), request)
    const total_tokens = version === 'v2' ? 9 : 7
    expect(end.usage).toEqual({ prompt_tokens: 3, completion_tokens: 4, total_tokens })
  })

  test('says how much of it was cached', async () => {
    const cached =
      version === 'v2' ? { inputTokens: 3, cachedInputTokens: 2 } : { inputTokens: { total: 3, cacheRead: 2 } }
    const outputTokens = version === 'v2' ? 4 : { total: 4 }
    const part = { ...finish, usage: { ...cached, outputTokens } } as unknown as LanguageModelV4StreamPart
    const { finish: end } = await readStream(aiSdkModel(scriptedLanguageModel(version, [part]).model), request)
    expect(end.usage).toMatchObject({ prompt_tokens: 3, cached_tokens: 2 })
  })

  test('gets a key for its cache only if its provider takes one', async () => {
    const { model, asked } = scriptedLanguageModel(version)
    const manner = { marksFailures: false, systemAnywhere: true, clock: systemClock, secrets: [] }
    const openai = { openai: { store: false } }
    const cached = { ...request, cache: { key: 'k' } }
    await Array.fromAsync(askAiSdk(model, cached, { ...manner, caching: 'key', providerOptions: openai }))
    await Array.fromAsync(askAiSdk(model, cached, manner))
    const options = [{ openai: { store: false, promptCacheKey: 'k' } }, undefined]
    expect(asked.map(({ providerOptions }) => providerOptions)).toEqual(options)
  })
})

describe('a language model of the AI SDK over the wire', () => {
  let server: RecordingProxy
  beforeAll(async () => {
    server = await startAimock()
  })
  afterAll(() => server.stop())
  const contract = modelContract({
    make: () => aiSdkModel(createOpenAI({ baseURL: `${server.url}/v1`, apiKey: 'k' })('gpt-4o')),
    brokenOff: () => server.brokenOff(),
  })
  test.each(contract)('$name', ({ run }) => run())
})

describe('aiSdkModel', () => {
  test('is called after provider and model, or as it is told', () => {
    const { model } = scriptedLanguageModel('v3')
    expect(aiSdkModel(model).id).toBe('scripted:some-model')
    expect(aiSdkModel(model, 'mine:best').id).toBe('mine:best')
  })

  test.each([
    ['v4', 'anthropic.messages', [], true],
    ['v4', 'anthropic.messages', ['text-input'], false],
    ['v4', 'scripted.chat', ['image-input'], false],
    ['v3', 'anthropic.messages', ['image-input'], false],
  ] as const)('of %s, %s, %j passes images on: %s', async (version, provider, capabilities, passes) => {
    const { model, asked } = scriptedLanguageModel(version)
    const one = aiSdkModel({ ...model, provider } as typeof model, 'a:b', capabilities)
    expect(one.accepts?.types.includes('image/png') === true).toBe(passes)
    await readStream(one, { messages: [{ role: 'user', content: [image] }], tools: [] })
    const content = passes
      ? { type: 'file', mediaType: 'image/png', data: { type: 'data', data: image.data } }
      : { type: 'text', text: '[image image/png, 67 bytes]' }
    expect(asked[0]?.prompt).toEqual([{ role: 'user', content: [content] }])
  })

  test('does not ask for a caller that has gone away', async () => {
    const { model, asked } = scriptedLanguageModel('v4')
    const reason = new Error('gone')
    await expect(readStream(aiSdkModel(model), { ...request, signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(asked).toEqual([])
  })

  test('does not wait for a model that is deaf to the signal', async () => {
    const deaf = { ...scriptedLanguageModel('v4').model, doStream: () => new Promise<never>(() => {}) }
    const controller = new AbortController()
    const reason = new Error('enough')
    const reading = readStream(aiSdkModel(deaf as never), { ...request, signal: controller.signal })
    setTimeout(() => controller.abort(reason), 5)
    await expect(reading).rejects.toBe(reason)
  })

  test('a stream without a finish is a failure', async () => {
    await expect(readStream(scripted(), request)).rejects.toMatchObject({ name: 'ModelError', retryable: true })
  })

  test('of several finishes the last is right', async () => {
    const interrupted = { ...finish, finishReason: { unified: 'interrupted' as const, raw: undefined } }
    await expect(readStream(scripted(finish, interrupted), request)).rejects.toBeInstanceOf(ModelError)
    expect((await readStream(scripted(finish, finish), request)).finish.reason).toBe('stop')
  })

  test('any call means tool_calls, and arguments that were left empty are none', async () => {
    const call = { type: 'tool-call' as const, toolCallId: 'c1', toolName: 'look', input: '' }
    const { calls, finish: end } = await readStream(scripted(call, finish), request)
    expect(end.reason).toBe('tool_calls')
    expect(calls[0]?.function.arguments).toBe('{}')
  })

  test('calls that the provider runs itself are not ours', async () => {
    const call = {
      type: 'tool-call' as const,
      toolCallId: 'c1',
      toolName: 'search',
      input: '{}',
      providerExecuted: true,
    }
    const start = { type: 'tool-input-start' as const, id: 'c1', toolName: 'search', providerExecuted: true }
    const { events } = await readStream(scripted(start, call, finish), request)
    expect(events).toEqual([{ type: 'finish', reason: 'stop' }])
  })

  test('calls keep their order, also behind one of which only the end says whether it was complete', async () => {
    const parts = [
      { type: 'tool-input-start' as const, id: 'c1', toolName: 'now' },
      { type: 'tool-call' as const, toolCallId: 'c1', toolName: 'now', input: '{}' },
      { type: 'tool-call' as const, toolCallId: 'c2', toolName: 'look', input: '{"a":1}' },
    ]
    const { calls } = await readStream(scripted(...parts, finish), request)
    expect(calls.map(({ id }) => id)).toEqual(['c1', 'c2'])
    const length = { ...finish, finishReason: { unified: 'length' as const, raw: 'length' } }
    expect((await readStream(scripted(...parts.slice(0, 2), length), request)).calls).toEqual([])
    expect((await readStream(scripted(...parts, length), request)).calls).toHaveLength(2)
  })

  test('what it reasoned goes back in its place, and text that was changed since goes whole', async () => {
    const meta = (signature: string) => ({ providerMetadata: { scripted: { signature } } })
    const { model, asked } = scriptedLanguageModel('v4', [
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'Hm.' },
      { type: 'reasoning-end', id: 'r', ...meta('one') },
      { type: 'text-start', id: 'nothing' },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'First' },
      { type: 'text-end', id: 't' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: '{}', ...meta('two') },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'then', ...meta('three') },
      finish,
    ])
    const { message } = await readStream(aiSdkModel(model), request)
    const back = async (changed: Message): Promise<unknown> => {
      await readStream(aiSdkModel(model), { messages: [user, changed], tools: [] })
      return asked.at(-1)?.prompt[1]?.content
    }
    const options = (signature: string) => ({ providerOptions: { scripted: { signature } } })
    const reasoning = { type: 'reasoning', text: 'Hm.', ...options('one') }
    const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {}, ...options('two') }
    expect(await back(message)).toEqual([
      reasoning,
      { type: 'text', text: 'First' },
      call,
      { type: 'text', text: 'then', ...options('three') },
    ])
    expect(await back({ ...message, content: 'Other' })).toEqual([{ type: 'text', text: 'Other' }, reasoning, call])
    const recovered = { ...message.tool_calls?.[0], id: 'c9', metadata: { recovered: true } } as never
    expect(await back({ ...message, content: null, tool_calls: [recovered] })).toEqual([
      reasoning,
      { type: 'tool-call', toolCallId: 'c9', toolName: 'look', input: {} },
    ])
    expect(await back({ ...message, metadata: { parts: ['what', { type: 'text' }] } })).toEqual([
      { type: 'text', text: 'Firstthen' },
      call,
    ])
  })

  test('a failure of the model is told without addresses and keys', async () => {
    const error = new Error('No sk-abcdefghijklmnopqrstuvwx at https://x.example/a?b=c')
    await expect(readStream(scripted({ type: 'error', error }), request)).rejects.toThrow(
      'The model failed: No [redacted] at [address].',
    )
  })

  test('a turn in which nothing was said is left out', async () => {
    const { model, asked } = scriptedLanguageModel('v4', [finish])
    const metadata = { parts: [{ type: 'reasoning', text: 'Hm.' }] }
    const silent: Message[] = [
      { role: 'assistant', content: null },
      { role: 'assistant', content: '', metadata },
    ]
    const messages = [user, ...silent, user]
    await readStream(aiSdkModel(model), { messages, tools: [] })
    expect(asked[0]?.prompt).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hello?' },
          { type: 'text', text: 'Hello?' },
        ],
      },
    ])
  })
})
