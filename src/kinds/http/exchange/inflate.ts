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
/** A frame names the memory that it wants at once: 8 MB is what the standard gives it over HTTP, and enough. */
const ZSTD_BOUND = { params: { [constants.ZSTD_d_windowLogMax]: 23 } }
const zstdAside = promisify<Buffer, Bound, Buffer>(zstdDecompress)
const ZSTD: Coding = {
  atOnce: (body, bound) => zstdDecompressSync(body, { ...bound, ...ZSTD_BOUND }),
  aside: (body, bound) => zstdAside(body, { ...bound, ...ZSTD_BOUND }),
}

const MOST_CODINGS = 2
/** Up to here another thread costs more than it spares: four times the time of the inflation itself. */
const SMALL_BYTES = 16_384
const SMALL_INFLATED_BYTES = 262_144
const LONGEST_QUOTE = 40

/** The body as it was before it was compressed. Stops where it becomes larger than `maxBytes`. */
export async function inflate(body: Buffer, encoding: string, maxBytes: number, tool: string): Promise<Buffer> {
  const names = encoding.toLowerCase().split(',').map(trimmed).filter(isCompressing)
  if (names.length > MOST_CODINGS) {
    throw brokenAnswer(`The service behind tool '${tool}' compressed its answer ${names.length} times: 2 are undone`)
  }
  let inflated = body
  for (const name of names.reverse()) {
    const coding = codingOf(name, inflated)
    if (coding === undefined) {
      const quoted = name.slice(0, LONGEST_QUOTE).replaceAll(/[^\w.-]/g, '?')
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

/** The standard wants `deflate` with a header; some servers have always sent it without. */
function hasZlibHeader(body: Buffer): boolean {
  return body.length >= 2 && ((body[0] as number) & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0
}

const trimmed = (name: string): string => name.trim()
const isCompressing = (name: string): boolean => name !== '' && name !== 'identity'
const isTooLarge = (error: unknown): boolean => (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE'
