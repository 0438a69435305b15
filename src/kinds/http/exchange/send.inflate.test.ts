import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { inflate } from './send.ts'

const TEXT = Buffer.from(JSON.stringify({ rain: [1, 2, 3], text: 'ä'.repeat(500) }))
const LARGE = Buffer.alloc(2_000_000, 'all work and no play ')

const CODINGS = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
] as const

const inflated = (body: Buffer, encoding: string, maxBytes = 5_000_000) => inflate(body, encoding, maxBytes, 'weather')

describe.each(CODINGS)('a body in %s', (encoding, compress) => {
  test.each([
    ['small', TEXT],
    ['large', LARGE],
    ['empty', Buffer.alloc(0)],
  ])('that is %s comes out as it was', async (_, body) => {
    expect(body.equals(await inflated(compress(body), encoding))).toBe(true)
  })

  test('may be as large as the bound, and no larger', async () => {
    expect(await inflated(compress(LARGE), encoding, LARGE.length)).toHaveLength(LARGE.length)
    await expect(inflated(compress(LARGE), encoding, LARGE.length - 1)).rejects.toMatchObject({
      code: 'RESULT_TOO_LARGE',
      message: `The service behind tool 'weather' answered with more than ${LARGE.length - 1} bytes: request less, or raise max_response_bytes`,
    })
    await expect(inflated(compress(TEXT), encoding, TEXT.length - 1)).rejects.toMatchObject({
      code: 'RESULT_TOO_LARGE',
    })
  })

  test.each([
    ['cut off', compress(TEXT).subarray(0, -12)],
    ['something else', Buffer.from('<html>not compressed at all</html>')],
  ])('that is %s is broken', async (_, body) => {
    await expect(inflated(body, encoding)).rejects.toMatchObject({
      code: 'EXECUTION_ERROR',
      message: "The service behind tool 'weather' sent a body that cannot be decompressed",
      extras: { outcome: 'unknown' },
      repeat: undefined,
    })
  })
})

test('a bomb is stopped at the bound, whatever it would have come to', async () => {
  const bomb = zstdCompressSync(Buffer.alloc(200_000_000))
  expect(bomb.length).toBeLessThan(20_000)
  const before = process.memoryUsage().arrayBuffers
  await expect(inflated(bomb, 'zstd')).rejects.toMatchObject({ code: 'RESULT_TOO_LARGE' })
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50_000_000)
})

test('a frame that asks for 128 MB to be inflated in is broken', async () => {
  const greedy = Buffer.from('28b52ffd008828000068656c6c6f290000776f726c64', 'hex')
  expect(zstdDecompressSync(greedy).toString()).toBe('helloworld')
  await expect(inflated(greedy, 'zstd')).rejects.toMatchObject({ code: 'EXECUTION_ERROR' })
})

test('two encodings are undone in the order that they were done in', async () => {
  const twice = brotliCompressSync(gzipSync(TEXT))
  expect(TEXT.equals(await inflated(twice, 'GZip , identity, BR'))).toBe(true)
})

test('a bomb inside another is stopped like any', async () => {
  const bomb = gzipSync(gzipSync(Buffer.alloc(10_000_000)))
  await expect(inflated(bomb, 'gzip, gzip')).rejects.toMatchObject({ code: 'RESULT_TOO_LARGE' })
})

test('three encodings are too many', async () => {
  await expect(inflated(TEXT, 'gzip, gzip, gzip')).rejects.toMatchObject({
    code: 'EXECUTION_ERROR',
    message: "The service behind tool 'weather' compressed its answer 3 times: at most 2 are allowed",
  })
})

test('reports an unknown encoding', async () => {
  await expect(inflated(TEXT, 'lzma<script>')).rejects.toMatchObject({
    code: 'EXECUTION_ERROR',
    message: "The service behind tool 'weather' answered in the unknown encoding 'lzma?script?'",
  })
})

test('identity is none', async () => {
  expect(await inflated(TEXT, 'identity')).toBe(TEXT)
})
