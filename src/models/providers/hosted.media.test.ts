import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { audio, document, image } from '../../core/fixtures/media.ts'
import { mediaText } from '../../core/tool-result.ts'
import { readStream } from '../../testing/model-contract.ts'
import { resultContent } from '../content.ts'
import {
  anthropicFrames,
  geminiFrames,
  openaiChatFrames,
  openaiResponsesFrames,
  type WireFrames,
} from '../fixtures/wire-frames.ts'
import { startWireServer, streamed, type WireServer } from '../fixtures/wire-server.ts'
import type { Message } from '../model.ts'
import { openProvider } from './open-provider.ts'

const ALL = ['image-input', 'audio-input', 'file-input']
const look = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }
const envelope = { success: true, result: [image, audio, document], tool_name: 'look', execution_time_ms: 1 } as const
const short = { ...envelope, result: [image, audio, document].map(mediaText) }
const text = JSON.stringify(short)
const png = `data:image/png;base64,${image.data}`
const pdf = `data:application/pdf;base64,${document.data}`

/** A question with media, a call, its result with media and a second one without. */
const messagesFor = (accepts: Parameters<typeof resultContent>[1]): Message[] => [
  { role: 'user', content: [{ type: 'text', text: 'Look.' }, image, audio] },
  {
    role: 'assistant',
    content: null,
    tool_calls: ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
  },
  { role: 'tool', tool_call_id: 'a', name: 'look', content: resultContent(envelope, accepts) },
  { role: 'tool', tool_call_id: 'b', name: 'look', content: '{"success":true}' },
]

const providers: Record<string, { type: string; path: string; frames: WireFrames; api?: 'chat' | 'responses' }> = {
  responses: { type: 'openai', path: '/v1', frames: openaiResponsesFrames, api: 'responses' },
  chat: { type: 'openai', path: '/v1', frames: openaiChatFrames, api: 'chat' },
  anthropic: { type: 'anthropic', path: '/v1', frames: anthropicFrames },
  gemini: { type: 'gemini', path: '/v1beta', frames: geminiFrames },
}

describe('media on the wire', () => {
  let server: WireServer
  beforeAll(async () => {
    server = await startWireServer()
  })
  afterAll(() => server.stop())
  beforeEach(() => {
    server.requests.length = 0
  })

  /** The messages that the provider gets. */
  async function sent(name: keyof typeof providers, capabilities: string[], model = 'm'): Promise<unknown[]> {
    const { type, path, frames, api } = providers[name] as (typeof providers)[string]
    server.replies = [streamed([...frames.start, ...frames.text('Ok.'), ...frames.finish('stop')])]
    const settings = { type, base_url: server.url + path, api_key: 'k', ...(api && { api }) }
    const asked = (await openProvider(settings)).model(model, { capabilities })
    await readStream(asked, { messages: messagesFor(asked.accepts), tools: [look] })
    const { input, messages, contents } = (server.requests.at(-1)?.body ?? {}) as Record<string, unknown[]>
    return input ?? messages ?? contents ?? []
  }

  test('OpenAI responses: inside results, without audio', async () => {
    const [user, , , first, second, ...rest] = await sent('responses', ALL)
    expect(user).toEqual({
      role: 'user',
      content: [
        { type: 'input_text', text: 'Look.' },
        { type: 'input_image', image_url: png },
        { type: 'input_text', text: mediaText(audio) },
      ],
    })
    expect(first).toEqual({
      type: 'function_call_output',
      call_id: 'a',
      output: [
        { type: 'input_text', text },
        { type: 'input_image', image_url: png },
        { type: 'input_file', filename: 'plan.pdf', file_data: pdf },
      ],
    })
    expect(second).toEqual({ type: 'function_call_output', call_id: 'b', output: '{"success":true}' })
    expect(rest).toEqual([])
  })

  test('OpenAI chat: as a user message after the results', async () => {
    const input_audio = { data: audio.data, format: 'wav' }
    const [user, , ...results] = await sent('chat', ALL)
    expect(user).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'Look.' },
        { type: 'image_url', image_url: { url: png } },
        { type: 'input_audio', input_audio },
      ],
    })
    expect(results).toEqual([
      { role: 'tool', tool_call_id: 'a', content: text },
      { role: 'tool', tool_call_id: 'b', content: '{"success":true}' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Media of the result of look:' },
          { type: 'image_url', image_url: { url: png } },
          { type: 'input_audio', input_audio },
          { type: 'file', file: { filename: 'plan.pdf', file_data: pdf } },
        ],
      },
    ])
  })

  test('Anthropic: inside results, without audio', async () => {
    const base64 = (media_type: string, data: string | undefined) => ({ type: 'base64', media_type, data })
    const [user, , results] = await sent('anthropic', ALL)
    expect(user).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'Look.' },
        { type: 'image', source: base64('image/png', image.data) },
        { type: 'text', text: mediaText(audio) },
      ],
    })
    expect(results).toEqual({
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'a',
          content: [
            { type: 'text', text },
            { type: 'image', source: base64('image/png', image.data) },
            { type: 'document', source: base64('application/pdf', document.data) },
          ],
        },
        { type: 'tool_result', tool_use_id: 'b', content: '{"success":true}' },
      ],
    })
  })

  test('Gemini: images and files inside results, audio after them', async () => {
    const inline = (mimeType: string, data: string | undefined) => ({ inlineData: { mimeType, data } })
    const [user, , results, after] = await sent('gemini', ALL, 'gemini-3-pro-preview')
    const parts = [{ text: 'Look.' }, inline('image/png', image.data), inline('audio/wav', audio.data)]
    expect(user).toEqual({ role: 'user', parts })
    expect(results).toEqual({
      role: 'user',
      parts: [
        {
          functionResponse: {
            id: 'a',
            name: 'look',
            response: { name: 'look', content: text },
            parts: [inline('image/png', image.data), inline('application/pdf', document.data)],
          },
        },
        expect.anything(),
      ],
    })
    expect(after).toEqual({
      role: 'user',
      parts: [{ text: 'Media of the result of look:' }, inline('audio/wav', audio.data)],
    })
  })

  test.each(Object.keys(providers))('%s: short texts for a model that takes text only', async (name) => {
    const all = JSON.stringify(await sent(name, ['text-input']))
    for (const part of [image, audio, document]) {
      expect(all).not.toContain(part.data)
      expect(all).toContain(mediaText(part))
    }
  })

  test.each<[string, object, unknown]>([
    ['openai', {}, { images: true, urls: true }],
    ['openai', { base_url: 'http://127.0.0.1:1/v1' }, undefined],
    ['anthropic', {}, { images: true, urls: true }],
    ['anthropic', { base_url: 'http://127.0.0.1:1/v1' }, { images: true, urls: false }],
    ['gemini', {}, { images: true, urls: false }],
  ])('models of %s %j are assumed to take images if the provider hosts them', async (type, settings, assumed) => {
    const { accepts } = (await openProvider({ type, api_key: 'k', ...settings })).model('m')
    const images = accepts?.types.every((one) => one.startsWith('image/'))
    expect(accepts && { images, urls: accepts.urls }).toEqual(assumed)
  })
})
