import { describe, expect, test } from 'vitest'
import { audio, document, image } from '../core/fixtures/media.ts'
import type { ToolResult } from '../core/tool-result.ts'
import { acceptedMedia, fittingMessage, MAX_MEDIA_CHARACTERS, resultContent, takes, textMessage } from './content.ts'
import type { Message } from './model.ts'

const api = { types: ['image/png', 'audio/wav', 'application/pdf'], urls: true, assumed: ['image'] } as const
const images = { types: ['image/png'], urls: true }
const link = { type: 'image', media_type: 'image/*', url: 'https://x.test/a' } as const
const success = (result: unknown): ToolResult => ({ success: true, result, tool_name: 'see', execution_time_ms: 1 })

test.each<[string[], unknown]>([
  [['function-calling'], images],
  [['image-input', 'audio-input'], { types: ['image/png', 'audio/wav'], urls: true }],
  [['file-input'], { types: ['application/pdf'], urls: false }],
  [['text-input'], undefined],
])('capabilities %j decide which media a model takes', (capabilities, accepted) => {
  expect(acceptedMedia(api, capabilities)).toEqual(accepted)
})

test('a model of a provider without media takes none', () => {
  expect(acceptedMedia(undefined, ['image-input'])).toBeUndefined()
})

describe('takes', () => {
  test.each([
    [image, true],
    [link, true],
    [audio, false],
    [{ ...link, type: 'file', media_type: 'application/pdf' } as const, false],
    [{ ...image, data: 'AAAA' }, false],
    [{ ...image, data: `${image.data}${'A'.repeat(MAX_MEDIA_CHARACTERS)}` }, false],
  ])('%#: a known type of at most 5 MB, with the data of this type', (part, taken) => {
    expect(takes(images, part)).toBe(taken)
  })

  test('no links without urls', () => {
    expect(takes({ types: ['image/png'] }, link)).toBe(false)
    expect(takes(undefined, image)).toBe(false)
  })
})

describe('resultContent', () => {
  test('is the envelope if there are no media', () => {
    const failure: ToolResult = { ...success(0), success: false, error: 'No', error_code: 'TIMEOUT' }
    for (const result of [success({ a: 1 }), failure])
      expect(resultContent(result, images)).toBe(JSON.stringify(result))
  })

  test('has the media that the model takes, and a short text for each', () => {
    const text = JSON.stringify(success(['[image image/png, 67 bytes]', '[audio audio/wav, 48 bytes]']))
    expect(resultContent(success([image, audio]), images)).toEqual([{ type: 'text', text }, image])
    expect(resultContent(success([image, audio]), undefined)).toBe(text)
  })

  test('has 20 media at most', () => {
    expect(resultContent(success(new Array(30).fill(image)), images)).toHaveLength(21)
  })
})

describe('a message', () => {
  const user: Message = { role: 'user', content: [{ type: 'text', text: 'Look.' }, image, document] }
  const short = '[file plan.pdf, application/pdf, 15 bytes]'

  test('of a user has short texts in place of other media', () => {
    const content = [{ type: 'text', text: 'Look.' }, image, { type: 'text', text: short }]
    expect(fittingMessage(user, images)).toEqual({ role: 'user', content })
    expect(textMessage(user).content).toBe(`Look.\n[image image/png, 67 bytes]\n${short}`)
  })

  test('of a tool names its media in its text', () => {
    const content = [{ type: 'text', text: '{"result":"[audio]"}' } as const, audio]
    const tool: Message = { role: 'tool', tool_call_id: 'a', name: 'hear', content }
    expect(fittingMessage(tool, images)).toEqual({ ...tool, content: '{"result":"[audio]"}' })
  })

  test('of texts is unchanged', () => {
    const said: Message = { role: 'assistant', content: null }
    expect(fittingMessage(said, images)).toBe(said)
  })
})
