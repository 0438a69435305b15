import { describe, expect, test } from 'vitest'
import { audio, document, image, PNG } from './fixtures/media.ts'
import { mediaText, readMedia, splitMedia } from './tool-result.ts'

const block = { type: 'image', data: PNG, mimeType: 'image/png' }

describe('readMedia', () => {
  test.each<[string, unknown, unknown]>([
    ['the shape of handlers', image, image],
    ['a content block of MCP', block, image],
    ['a type with parameters', { ...block, mimeType: 'Image/PNG; q=1' }, image],
    ['a name', { ...image, name: 'a.png' }, { ...image, name: 'a.png' }],
    [
      'a resource with a blob',
      {
        type: 'resource',
        resource: { uri: 'file:///docs/plan.pdf', mimeType: 'application/pdf', blob: document.data },
      },
      document,
    ],
    [
      'a resource without a type',
      { type: 'resource', resource: { uri: 'x:y', blob: 'AAAA' } },
      { type: 'file', media_type: 'application/octet-stream', data: 'AAAA', name: 'x:y' },
    ],
    [
      'an address',
      { type: 'image', media_type: 'image/png', url: 'https://x.test/a.png' },
      { type: 'image', media_type: 'image/png', url: 'https://x.test/a.png' },
    ],
    ['the type of the data instead of a wrong one', { ...block, mimeType: 'image/jpeg' }, image],
    ['another name of a type', { ...audio, media_type: 'audio/x-wav' }, audio],
  ])('reads %s', (_, value, part) => {
    expect(readMedia(value)).toEqual(part)
  })

  test.each<[string, unknown]>([
    ['data that is not base64', { ...image, data: 'not base64!' }],
    ['data of a wrong length', { ...image, data: 'AAA' }],
    ['no media type', { type: 'image', data: PNG }],
    ['a media type that is none', { ...image, media_type: 'image' }],
    ['an address that is not http', { type: 'image', media_type: 'image/png', url: 'file:///etc/passwd' }],
    ['an address that is none', { type: 'image', media_type: 'image/png', url: 'http://' }],
    ['a resource with text', { type: 'resource', resource: { uri: 'x:y', text: 'hi' } }],
    ['a text', 'image'],
    ['null', null],
    ['other data', { type: 'invoice', data: 'AAAA', media_type: 'text/plain' }],
  ])('does not take %s for media', (_, value) => {
    expect(readMedia(value)).toBeUndefined()
  })
})

test.each([
  [image, '[image image/png, 67 bytes]'],
  [document, '[file plan.pdf, application/pdf, 15 bytes]'],
  [{ ...image, data: 'A'.repeat(46_000) }, '[image image/png, 34 KB]'],
  [{ ...image, data: 'A'.repeat(4_000_000) }, '[image image/png, 2.9 MB]'],
  [{ type: 'image', media_type: 'image/*', url: 'https://x.test/a' } as const, '[image image/*, https://x.test/a]'],
])('writes media as a short text', (part, text) => {
  expect(mediaText(part)).toBe(text)
})

describe('splitMedia', () => {
  const short = mediaText(image)
  const text = { type: 'text', text: 'see' }
  test.each<[string, unknown, unknown, number]>([
    ['the result itself', block, short, 1],
    ['a list', [1, image, audio], [1, short, mediaText(audio)], 2],
    ['content of MCP', { content: [text, block], more: 1 }, { content: [text, short], more: 1 }, 1],
    [
      'a link to an image',
      { content: [{ type: 'resource_link', uri: 'https://x.test/a', name: 'a', mimeType: 'image/png' }] },
      { content: ['[image a, image/png, https://x.test/a]'] },
      1,
    ],
    [
      'data in lines',
      { content: [{ ...block, data: `${image.data.slice(0, 60)}\n${image.data.slice(60)}` }] },
      { content: [short] },
      1,
    ],
    [
      'a copy in the structured content',
      { content: [block], structuredContent: { image: { data: image.data } } },
      { content: [short], structuredContent: { image: { data: short } } },
      1,
    ],
    ['nothing', { content: 'x' }, { content: 'x' }, 0],
    ['nothing deeper in the result', { a: { b: image } }, { a: { b: image } }, 0],
  ])('finds %s', (_, result, value, count) => {
    const split = splitMedia(result)
    expect(split.value).toEqual(value)
    expect(split.media).toHaveLength(count)
    if (count === 0) expect(split.value).toBe(result)
  })

  test('shows no data that can’t be decoded', () => {
    const broken = [
      { type: 'image', mimeType: 'image/png', data: 'A'.repeat(2_049) },
      { type: 'resource', resource: { uri: 'a://b', blob: '%'.repeat(4) } },
    ]
    expect(splitMedia({ content: broken })).toEqual({
      value: { content: ["[image that can't be read, 2 KB]", "[resource that can't be read, 3 bytes]"] },
      media: [],
    })
    const records = [
      { type: 'file', data: 'plain' },
      { type: 'resource', resource: 'a' },
    ]
    expect(splitMedia(records).value).toBe(records)
  })
})
