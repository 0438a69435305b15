import { promisify } from 'node:util'
import {
  brotliDecompress,
  brotliDecompressSync,
  constants,
  gunzip,
  gunzipSync,
  inflateRaw,
  inflateRawSync,
  inflateSync,
  inflate as inflateZlib,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib'
import { answerTooLarge, brokenAnswer } from './exchange-error.ts'

interface Bound {
  readonly maxOutputLength: number
}

interface Coding {
  readonly atOnce: (body: Buffer, bound: Bound) => Buffer
  readonly aside: (body: Buffer, bound: Bound) => Promise<Buffer>
}

const GZIP: Coding = { atOnce: gunzipSync, aside: promisify<Buffer, Bound, Buffer>(gunzip) }
const ZLIB: Coding = { atOnce: inflateSync, aside: promisify<Buffer, Bound, Buffer>(inflateZlib) }
const RAW: Coding = { atOnce: inflateRawSync, aside: promisify<Buffer, Bound, Buffer>(inflateRaw) }
const BROTLI: Coding = { atOnce: brotliDecompressSync, aside: promisify<Buffer, Bound, Buffer>(brotliDecompress) }
/** A zstd frame declares its window size. RFC 9659 limits it to 8 MB over HTTP. */
const ZSTD_BOUND = { params: { [constants.ZSTD_d_windowLogMax]: 23 } }
const zstdAside = promisify<Buffer, Bound, Buffer>(zstdDecompress)
const ZSTD: Coding = {
  atOnce: (body, bound) => zstdDecompressSync(body, { ...bound, ...ZSTD_BOUND }),
  aside: (body, bound) => zstdAside(body, { ...bound, ...ZSTD_BOUND }),
}

const MAX_CODINGS = 2
/** Below this size, synchronous decompression is about four times as fast as the thread pool. */
const SMALL_BYTES = 16_384
const SMALL_INFLATED_BYTES = 262_144
const MAX_QUOTED = 40

/** Decompresses a body, up to `maxBytes`. */
export async function inflate(body: Buffer, encoding: string, maxBytes: number, tool: string): Promise<Buffer> {
  const names = encoding.toLowerCase().split(',').map(trimmed).filter(isCompressing)
  if (names.length > MAX_CODINGS) {
    throw brokenAnswer(`The service behind tool '${tool}' compressed its answer ${names.length} times: 2 are undone`)
  }
  let inflated = body
  for (const name of names.reverse()) {
    const coding = codingOf(name, inflated)
    if (coding === undefined) {
      const quoted = name.slice(0, MAX_QUOTED).replaceAll(/[^\w.-]/g, '?')
      throw brokenAnswer(`The service behind tool '${tool}' answered in the encoding '${quoted}', which is not known`)
    }
    try {
      inflated = await undo(coding, inflated, maxBytes)
    } catch (error) {
      if (isTooLarge(error)) throw answerTooLarge(tool, maxBytes)
      throw brokenAnswer(`The service behind tool '${tool}' sent a body that is broken: it cannot be inflated`, error)
    }
  }
  return inflated
}

function undo({ aside, atOnce }: Coding, body: Buffer, maxBytes: number): Buffer | Promise<Buffer> {
  if (body.length <= SMALL_BYTES) {
    try {
      return atOnce(body, { maxOutputLength: Math.min(maxBytes, SMALL_INFLATED_BYTES) })
    } catch (error) {
      if (!isTooLarge(error) || maxBytes <= SMALL_INFLATED_BYTES) throw error
    }
  }
  return aside(body, { maxOutputLength: maxBytes })
}

function codingOf(name: string, body: Buffer): Coding | undefined {
  switch (name) {
    case 'gzip':
    case 'x-gzip':
      return GZIP
    case 'deflate':
      return hasZlibHeader(body) ? ZLIB : RAW
    case 'br':
      return BROTLI
    case 'zstd':
      return ZSTD
    default:
      return undefined
  }
}

/** The standard requires a zlib header for `deflate`; some servers omit it. */
function hasZlibHeader(body: Buffer): boolean {
  return body.length >= 2 && ((body[0] as number) & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0
}

const trimmed = (name: string): string => name.trim()
const isCompressing = (name: string): boolean => name !== '' && name !== 'identity'
const isTooLarge = (error: unknown): boolean => (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE'
