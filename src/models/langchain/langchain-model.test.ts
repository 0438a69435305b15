import { AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages'
import { ChatGenerationChunk } from '@langchain/core/outputs'
import { FakeChatModel, FakeListChatModel, FakeStreamingChatModel } from '@langchain/core/utils/testing'
import { describe, expect, test } from 'vitest'
import { image } from '../../core/fixtures/media.ts'
import { modelContract, readStream } from '../../testing/model-contract.ts'
import { modelScript, scriptedTools } from '../../testing/model-script.ts'
import { ScriptedChatModel } from '../fixtures/scripted-chat-model.ts'
import type { Message, ModelRequest } from '../model.ts'
import { ModelError } from '../model-error.ts'
import { langchainModel } from './langchain-model.ts'

const question: Message = { role: 'user', content: 'Hello' }
const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({ messages: [question], tools: [], ...more })

function answering(...chunks: AIMessageChunk[]): ScriptedChatModel {
  const model = new ScriptedChatModel()
  model.chunks = chunks
  return model
}

const piece = (index: number | undefined, fields: object) =>
  new AIMessageChunk({ content: '', tool_call_chunks: [{ ...(index !== undefined && { index }), ...fields }] })

describe('a chat model of LangChain', () => {
  const model = new ScriptedChatModel()
  const contract = modelContract({
    make: () => langchainModel(model),
    offered: () => (model.asked?.options.tools ?? []).map(({ name }) => name),
    brokenOff: () => model.brokenOff,
  })
  test.each(contract)('$name', ({ run }) => run())
})

describe('the fakes of LangChain', () => {
  test('a list of answers', async () => {
    const fake = new FakeListChatModel({ responses: ['Hello there'] })
    const { text, finish } = await readStream(langchainModel(fake), request())
    expect([text, finish.reason]).toEqual(['Hello there', 'stop'])
  })

  test('a stream whose chunks hold whole calls', async () => {
    const tool_calls = [{ id: 'a', name: 'get_time', args: {} }]
    const fake = new FakeStreamingChatModel({
      sleep: 0,
      chunks: [new AIMessageChunk({ content: 'Let me ' }), new AIMessageChunk({ content: 'look.', tool_calls })],
    })
    const { text, calls, finish } = await readStream(langchainModel(fake), request({ tools: scriptedTools }))
    expect(text).toBe('Let me look.')
    expect(calls).toEqual([{ id: 'a', type: 'function', function: { name: 'get_time', arguments: '{}' } }])
    expect(finish.reason).toBe('tool_calls')
  })

  test('a model without streaming, whose answer is one message', async () => {
    expect((await readStream(langchainModel(new FakeChatModel({})), request())).text).toBe('Hello')
  })

  test('one that fails gives a ModelError with its id', async () => {
    const fake = new FakeStreamingChatModel({ thrownErrorString: 'no luck at https://10.0.0.1/v1' })
    const failing = readStream(langchainModel(fake, 'lc:fake'), request())
    await expect(failing).rejects.toBeInstanceOf(ModelError)
    await expect(failing).rejects.toThrow('lc:fake: The model failed: no luck at [address].')
  })

  test('one without bindTools says so when tools are offered', async () => {
    const fake = new FakeListChatModel({ responses: ['x'] })
    Reflect.set(fake, 'bindTools', undefined)
    await expect(readStream(langchainModel(fake), request({ tools: scriptedTools }))).rejects.toThrow(
      /does not support tools/,
    )
  })
})

describe('what goes to LangChain', () => {
  test('messages of its own classes, with what it gave us before', async () => {
    const model = new ScriptedChatModel()
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'text', text: 'Let me look.' },
    ]
    const messages: Message[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'get_weather', arguments: '{"location":"Paris"}' } },
          { id: 'b', type: 'function', function: { name: 'get_weather', arguments: '{"loc' } },
        ],
        metadata: { langchain: { id: 'msg_1', content, additional_kwargs: { k: 1 }, response_metadata: { r: 2 } } },
      },
      { role: 'tool', tool_call_id: 'a', name: 'get_weather', content: '{"success":true}' },
      { role: 'tool', tool_call_id: 'b', name: 'get_weather', content: '{"success":false}' },
    ]
    await readStream(langchainModel(model), request({ messages, tools: scriptedTools, max_tokens: 9, temperature: 0 }))
    const sent = model.asked?.messages ?? []
    expect(sent.map((message) => message.constructor)).toEqual([
      SystemMessage,
      HumanMessage,
      AIMessage,
      ToolMessage,
      ToolMessage,
    ])
    expect(sent[2]).toMatchObject({
      id: 'msg_1',
      content,
      additional_kwargs: { k: 1 },
      response_metadata: { r: 2 },
      tool_calls: [
        { id: 'a', name: 'get_weather', args: { location: 'Paris' } },
        { id: 'b', name: 'get_weather', args: {} },
      ],
    })
    expect(sent[3]).toMatchObject({ tool_call_id: 'a', name: 'get_weather', content: '{"success":true}' })
    expect(model.asked?.options).toMatchObject({
      max_tokens: 9,
      temperature: 0,
      tools: scriptedTools.map(({ name, description, parameters }) => ({ name, description, schema: parameters })),
    })
  })
})

test('LangChain gets a short text for media', async () => {
  const model = new ScriptedChatModel()
  await readStream(langchainModel(model), request({ messages: [{ role: 'user', content: [image] }] }))
  expect(model.asked?.messages[0]?.content).toBe('[image image/png, 67 bytes]')
})

describe('what comes from LangChain', () => {
  test('stores what must be sent back: signed thinking, fields of the provider', async () => {
    const model = answering(
      new AIMessageChunk({ content: [{ type: 'thinking', thinking: 'h', index: 0 }], id: 'msg_1' }),
      new AIMessageChunk({ content: [{ type: 'thinking', thinking: 'm', signature: 's', index: 0 }] }),
      new AIMessageChunk({ content: [{ type: 'text', text: 'Paris', index: 1 }], additional_kwargs: { seen: 'x' } }),
      new AIMessageChunk({
        content: [{ type: 'text', text: '.', index: 1 }],
        response_metadata: { stop_reason: 'end_turn' },
      }),
    )
    const { text, finish } = await readStream(langchainModel(model), request())
    expect(text).toBe('Paris.')
    expect(finish.metadata).toMatchObject({
      langchain: {
        id: 'msg_1',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 's' },
          { type: 'text', text: 'Paris.' },
        ],
        additional_kwargs: { seen: 'x' },
        response_metadata: { stop_reason: 'end_turn' },
      },
    })
  })

  test('malformed arguments come as the model wrote them', async () => {
    const model = answering(piece(0, { id: 'a', name: 'get_time', args: '{"x": ' }), piece(0, { args: 'oops' }))
    const { calls, finish } = await readStream(langchainModel(model), request())
    expect(calls.map((call) => call.function.arguments)).toEqual(['{"x": oops'])
    expect(finish.reason).toBe('tool_calls')
  })

  test('an invalid call of a whole message comes as the model wrote it', async () => {
    const fake = new FakeChatModel({})
    fake._generate = async () => ({
      generations: [
        {
          text: '',
          message: new AIMessage({ content: '', invalid_tool_calls: [{ id: 'a', name: 'get_time', args: '{"x"' }] }),
        },
      ],
    })
    const { calls } = await readStream(langchainModel(fake), request())
    expect(calls).toEqual([{ id: 'a', type: 'function', function: { name: 'get_time', arguments: '{"x"' } }])
  })

  test('separates calls whose chunks are interleaved, or have no index or id', async () => {
    const mixed = answering(
      piece(0, { id: 'a', name: 'one', args: '' }),
      piece(1, { id: 'a', name: 'two', args: '{"b"' }),
      piece(0, { args: '{}' }),
      piece(1, { args: ':1}' }),
    )
    const read = async (model: ScriptedChatModel) =>
      (await readStream(langchainModel(model), request())).calls.map((call) => Object.values(call.function))
    expect(await read(mixed)).toEqual([
      ['one', '{}'],
      ['two', '{"b":1}'],
    ])
    const without = answering(
      piece(undefined, { name: 'one', args: '{"a":' }),
      piece(undefined, { args: '1}' }),
      piece(undefined, { name: 'one', args: '{}' }),
    )
    expect(await read(without)).toEqual([
      ['one', '{"a":1}'],
      ['one', '{}'],
    ])
  })

  test('a call in which the tokens ran out is not given', async () => {
    const model = answering(
      piece(0, { id: 'a', name: 'one', args: '{}' }),
      piece(1, { id: 'b', name: 'two', args: '{"text": "to be' }),
      new AIMessageChunk({ content: '', response_metadata: { stop_reason: 'max_tokens' } }),
    )
    const { calls } = await readStream(langchainModel(model), request())
    expect(calls.map(({ id }) => id)).toEqual(['a'])
  })

  test.each([
    [{ finish_reason: 'stop' }, 'stop'],
    [{ finish_reason: 'STOP' }, 'stop'],
    [{ stop_reason: 'end_turn' }, 'stop'],
    [{ done_reason: 'length' }, 'length'],
    [{ finish_reason: 'MAX_TOKENS' }, 'length'],
    [{ finish_reason: 'content_filter' }, 'content_filter'],
    [{ stop_reason: 'refusal' }, 'content_filter'],
    [{ finish_reason: 'something new' }, 'error'],
    [{}, 'stop'],
  ])('%j means %s', async (response_metadata, reason) => {
    const model = answering(
      new AIMessageChunk({ content: 'x' }),
      new AIMessageChunk({ content: '', response_metadata }),
    )
    expect((await readStream(langchainModel(model), request())).finish.reason).toBe(reason)
  })

  test('a chat model that hangs is left when the caller goes away', async () => {
    const model = answering()
    model._streamResponseChunks = async function* () {
      yield new ChatGenerationChunk({ message: new AIMessageChunk('It'), text: 'It' })
      await new Promise(() => {})
    }
    const controller = new AbortController()
    const reason = new Error('enough')
    const reading = async () => {
      for await (const _ of langchainModel(model).stream(request({ signal: controller.signal }))) {
        setImmediate(() => controller.abort(reason))
      }
    }
    await expect(reading()).rejects.toBe(reason)
  })

  test('usage is counted', async () => {
    const { finish } = await readStream(langchainModel(new ScriptedChatModel()), {
      messages: [{ role: 'user', content: modelScript.text.asked }],
      tools: [],
    })
    expect(finish.usage).toEqual({ prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 })
  })

  test('a refusal keeps its status and the time to wait', async () => {
    const model = answering()
    const refusal = Object.assign(new Error('slow down'), { status: 429, headers: new Headers({ 'retry-after': '3' }) })
    model._streamResponseChunks = () => {
      throw refusal
    }
    const failing = readStream(langchainModel(model), request())
    await expect(failing).rejects.toMatchObject({ status: 429, retryable: true, retryAfterMs: 3000, cause: refusal })
  })
})
