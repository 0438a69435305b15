import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { analyse } from 'chardet'
import { cleanText, type DocumentFormat, type ReadDocument, UnreadableDocument } from './document.ts'
import { checkSize, documentFormat, extensionOf, isPdf, looksLike } from './document-format.ts'
import { type ExtractionOptions, htmlDocument, pdfDocument } from './extraction.ts'
import { csvDocument, jsonDocument } from './records.ts'
import { textDocument, titleOf } from './text-document.ts'

export interface ReadOptions extends ExtractionOptions {
  /** The media type given by the sender, such as `text/html; charset=utf-8`. */
  readonly mediaType?: string
}

/** Reads the text and structure of a document in any format. Throws `UnreadableDocument`. */
export async function readDocument(bytes: Uint8Array, options: ReadOptions): Promise<ReadDocument> {
  const { name } = options
  const format = checkHead(name, bytes, bytes.length, options.mediaType)
  if (bytes.length === 0) return { format, title: titleOf(name, '', []), text: '', blocks: [], warnings: [] }
  if (format === 'pdf') return pdfDocument(bytes, options)
  const { text, replaced } = decodeText(bytes, name, declaredEncoding(bytes, format, options.mediaType))
  const document = await structured(cleanText(text), format, options)
  if (replaced === 0) return document
  return { ...document, warnings: [`has ${replaced} characters that could not be decoded`, ...document.warnings] }
}

/** Detects the format by the first bytes. Throws if the file is binary or too large for its format. */
export function checkHead(name: string, head: Uint8Array, size: number, mediaType?: string): DocumentFormat {
  const format = documentFormat(name, head, mediaType)
  checkSize(name, format, size)
  if (size === 0 || (format === 'pdf' && isPdf(head))) return format
  const what = looksLike(head, extensionOf(name))
  if (what !== undefined) throw new UnreadableDocument(name, 'binary', `it looks like ${what}`)
  if (format === 'pdf') throw new UnreadableDocument(name, 'corrupt', 'it is called a PDF, and is none')
  return format
}

async function structured(text: string, format: DocumentFormat, options: ReadOptions): Promise<ReadDocument> {
  const { name } = options
  if (format === 'html') return htmlDocument(text, options)
  if (format === 'json') {
    const json = jsonDocument(text, name)
    if (json === undefined) return asLines(text, name, format, 'is no valid JSON and was read as text')
    return { ...json, format, title: titleOf(name, '', [], json.title) }
  }
  if (format === 'csv') {
    const csv = await csvDocument(text, name)
    if (csv === undefined) return asLines(text, name, format, 'has quotes that are not closed and was read as text')
    return { ...csv, format, title: titleOf(name, '', []), warnings: [] }
  }
  return textDocument(text, name, format === 'markdown' || format === 'code' ? format : 'text')
}

const asLines = (text: string, name: string, format: DocumentFormat, warning: string): ReadDocument => ({
  ...textDocument(text, name, 'code'),
  format,
  warnings: [warning],
})

/** The encoding that the sender, or the page itself, names. */
function declaredEncoding(bytes: Uint8Array, format: DocumentFormat, mediaType = ''): string | undefined {
  const CHARSET = /charset\s*=\s*["']?([\w.:-]{1,40})/i
  const said = CHARSET.exec(mediaType)?.[1]
  if (said !== undefined || format !== 'html') return said
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 2048)).toString('latin1')
  return CHARSET.exec(head)?.[1]
}

const HEAD_BYTES = 4096
/** Without O_NONBLOCK, opening a pipe waits for a writer. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/** Reads a file as a document. Rejects large and binary files before reading them whole. */
export async function readDocumentFile(path: string, options: ReadOptions): Promise<ReadDocument> {
  const { name } = options
  const file = await opened(path, name)
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw new UnreadableDocument(name, 'no-file', 'it is no file')
    checkHead(name, await bytesOf(file, Math.min(stats.size, HEAD_BYTES)), stats.size, options.mediaType)
    return await readDocument(await bytesOf(file, stats.size), options)
  } finally {
    await file.close()
  }
}

async function opened(path: string, name: string): Promise<FileHandle> {
  try {
    return await open(path, FLAGS)
  } catch (error) {
    const { code } = Object(error) as { code?: unknown }
    const why = code === 'ENOENT' ? 'there is no such file' : `it cannot be opened (${code})`
    throw new UnreadableDocument(name, 'no-file', why, { cause: error })
  }
}

/** So many bytes from the start, or fewer where the file has become shorter. */
async function bytesOf(file: FileHandle, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  let read = 0
  while (read < length) {
    const { bytesRead } = await file.read(bytes, read, length - read, read)
    if (bytesRead === 0) break
    read += bytesRead
  }
  return bytes.subarray(0, read)
}

interface DecodedText {
  readonly text: string
  /** How many characters had to be replaced, as their bytes mean nothing in the encoding. */
  readonly replaced: number
}

const SAMPLE_BYTES = 65_536
/** A byte order mark, and the encoding that it stands for. */
const MARKS: readonly (readonly [mark: readonly number[], encoding: string])[] = [
  [[0xff, 0xfe, 0, 0], 'utf-32'],
  [[0, 0, 0xfe, 0xff], 'utf-32'],
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
]
/** Escape sequences of a Japanese encoding of seven bits, which would pass for ASCII. */
const ISO_2022_JP = '\x1b$B'
/** Characters that do not stand in texts, besides tab, line and page ends, backspace and escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const STRANGE = /[\0-\x07\x0b\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd\ufffe\uffff]/g
const MAX_STRANGE_SHARE = 0.04

/** The text in bytes of any encoding: by its mark, else as UTF-8, else as `declared` or as it looks. */
export function decodeText(bytes: Uint8Array, name: string, declared?: string): DecodedText {
  const marked = MARKS.find(([mark]) => mark.every((byte, at) => bytes[at] === byte))?.[1]
  if (marked === 'utf-32') throw new UnreadableDocument(name, 'encoding', 'it is text in UTF-32; save it as UTF-8')
  const result = marked === undefined ? unmarked(bytes, declared) : decoded(bytes, marked)
  if (result === undefined) throw new UnreadableDocument(name, 'binary', 'it holds NUL bytes, as no text does')
  if (isOrdinary(result.text)) return result
  throw new UnreadableDocument(name, 'binary', 'it looks like binary data, not like text')
}

function unmarked(bytes: Uint8Array, declared: string | undefined): DecodedText | undefined {
  if (bytes.includes(0)) return withNul(bytes)
  const text = strictly(bytes, 'utf-8')
  if (text === undefined) return legacy(bytes, declared)
  return text.includes(ISO_2022_JP) ? decoded(bytes, 'iso-2022-jp') : { text, replaced: 0 }
}

/** UTF-16 without a mark has a NUL in every character of ASCII, always on the same side; other text has none. */
function withNul(bytes: Uint8Array): DecodedText | undefined {
  const counts = [0, 0]
  for (let at = 0; at < Math.min(bytes.length, SAMPLE_BYTES); at++) {
    if (bytes[at] === 0) counts[at % 2] = (counts[at % 2] as number) + 1
  }
  const [even = 0, odd = 0] = counts
  const encoding = odd > even * 20 ? 'utf-16le' : even > odd * 20 ? 'utf-16be' : undefined
  const text = encoding && strictly(bytes, encoding)
  return text === undefined || text.includes('\0') ? undefined : { text, replaced: 0 }
}

function legacy(bytes: Uint8Array, declared: string | undefined): DecodedText {
  if (declared !== undefined && isKnown(declared) && new TextDecoder(declared).encoding !== 'utf-8') {
    return decoded(bytes, declared)
  }
  // What the encodings differ in are the bytes outside of ASCII: there may be none for a long while.
  const from = Math.max(0, bytes.findIndex((byte) => byte > 0x7f) - 64)
  const sample = bytes.subarray(from, from + SAMPLE_BYTES)
  if (isNearlyUtf8(sample)) return decoded(bytes, 'utf-8')
  for (const { name, confidence } of analyse(sample)) {
    const text = confidence > 0 && isKnown(name) ? strictly(bytes, name) : undefined
    if (text !== undefined && isOrdinary(text)) return { text, replaced: 0 }
  }
  return decoded(bytes, 'windows-1252')
}

function strictly(bytes: Uint8Array, encoding: string): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function decoded(bytes: Uint8Array, encoding: string): DecodedText {
  const strict = strictly(bytes, encoding)
  if (strict !== undefined) return { text: strict, replaced: 0 }
  const text = new TextDecoder(encoding).decode(bytes)
  return { text, replaced: count(text, '\ufffd') }
}

/** But for a few bytes that were cut off or put in: those of other encodings hardly ever make a character by chance. */
function isNearlyUtf8(sample: Uint8Array): boolean {
  let good = 0
  let bad = 0
  for (const character of new TextDecoder('utf-8').decode(sample, { stream: true })) {
    if (character === '\ufffd') bad++
    else if (character > '\x7f') good++
  }
  return bad * 10 < good
}

function isOrdinary(text: string): boolean {
  return [text.slice(0, SAMPLE_BYTES), text.slice(-SAMPLE_BYTES)].every(
    (sample) => (sample.match(STRANGE)?.length ?? 0) <= sample.length * MAX_STRANGE_SHARE,
  )
}

function count(text: string, character: string): number {
  let found = 0
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) found++
  return found
}

function isKnown(encoding: string): boolean {
  try {
    new TextDecoder(encoding)
    return true
  } catch {
    return false
  }
}
