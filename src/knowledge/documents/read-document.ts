import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { posix } from 'node:path'
import { analyse } from 'chardet'
import { ownValue } from '../../core/json/json-type.ts'
import { cleanText, type DocumentFormat, type ReadDocument, UnreadableDocument } from './document.ts'
import { type ExtractionOptions, htmlDocument, pdfDocument } from './extraction.ts'
import { csvDocument, jsonDocument } from './records.ts'
import { textDocument, titleOf } from './text-document.ts'

export interface ReadOptions extends ExtractionOptions {
  /** Such as `text/html; charset=utf-8`. */
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
function checkHead(name: string, head: Uint8Array, size: number, mediaType?: string): DocumentFormat {
  const format = documentFormat(name, head, mediaType)
  checkSize(name, format, size)
  if (size === 0 || (format === 'pdf' && isPdf(head))) return format
  const what = looksLike(head, extensionOf(name))
  if (what !== undefined) throw new UnreadableDocument(name, 'binary', `it looks like ${what}`)
  if (format === 'pdf') throw new UnreadableDocument(name, 'corrupt', "it has the name of a PDF, but isn't one")
  return format
}

async function structured(text: string, format: DocumentFormat, options: ReadOptions): Promise<ReadDocument> {
  const { name } = options
  if (format === 'html') return htmlDocument(text, options)
  if (format === 'json') {
    const json = jsonDocument(text, name)
    if (json === undefined) return asLines(text, name, format, "isn't valid JSON and was read as text")
    return { ...json, format, title: titleOf(name, '', [], json.title) }
  }
  if (format === 'csv') {
    const csv = await csvDocument(text, name)
    if (csv === undefined) return asLines(text, name, format, 'has unclosed quotes and was read as text')
    return { ...csv, format, title: titleOf(name, '', []), warnings: [] }
  }
  return textDocument(text, name, format === 'markdown' || format === 'code' ? format : 'text')
}

const asLines = (text: string, name: string, format: DocumentFormat, warning: string): ReadDocument => ({
  ...textDocument(text, name, 'code'),
  format,
  warnings: [warning],
})

/** The encoding declared by the media type or the page. */
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
    if (!stats.isFile()) throw new UnreadableDocument(name, 'no-file', "it isn't a file")
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

/** Shorter if the file has shrunk. */
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
  /** The number of undecodable characters. */
  readonly replaced: number
}

const SAMPLE_BYTES = 65_536
const MARKS: readonly (readonly [mark: readonly number[], encoding: string])[] = [
  [[0xff, 0xfe, 0, 0], 'utf-32'],
  [[0, 0, 0xfe, 0xff], 'utf-32'],
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
]
/** An escape sequence of ISO-2022-JP, which is valid ASCII. */
const ISO_2022_JP = '\x1b$B'
/** Characters that texts don't contain. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: matched on purpose
const STRANGE = /[\0-\x07\x0b\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd\ufffe\uffff]/g
const MAX_STRANGE_SHARE = 0.04

/** Decodes text by its byte order mark, as UTF-8, as declared, or as detected. */
export function decodeText(bytes: Uint8Array, name: string, declared?: string): DecodedText {
  const marked = MARKS.find(([mark]) => mark.every((byte, at) => bytes[at] === byte))?.[1]
  if (marked === 'utf-32') throw new UnreadableDocument(name, 'encoding', 'it is text in UTF-32; save it as UTF-8')
  const result = marked === undefined ? unmarked(bytes, declared) : decoded(bytes, marked)
  if (result === undefined) throw new UnreadableDocument(name, 'binary', 'it contains NUL bytes')
  if (isOrdinary(result.text)) return result
  throw new UnreadableDocument(name, 'binary', 'it looks like binary data, not like text')
}

function unmarked(bytes: Uint8Array, declared: string | undefined): DecodedText | undefined {
  if (bytes.includes(0)) return withNul(bytes)
  const text = strictly(bytes, 'utf-8')
  if (text === undefined) return legacy(bytes, declared)
  return text.includes(ISO_2022_JP) ? decoded(bytes, 'iso-2022-jp') : { text, replaced: 0 }
}

/** In UTF-16 without a mark, ASCII characters have a NUL on the same side. */
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
  // Encodings differ outside ASCII, which may start late.
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

/** Tolerates a few damaged bytes: other encodings rarely form valid UTF-8. */
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

const EXTENSIONS: Readonly<Record<string, DocumentFormat>> = {
  ...each('text', 'txt text rst adoc asciidoc org tex'),
  ...each('markdown', 'md markdown mdown mkd mdx'),
  ...each('html', 'html htm xhtml'),
  ...each('pdf', 'pdf'),
  ...each('json', 'json jsonl ndjson geojson ipynb webmanifest'),
  ...each('csv', 'csv tsv tab'),
  // Formats in which line breaks matter are split like code.
  ...each('code', 'c h cc cpp cxx hpp cs java kt kts scala groovy gradle go rs zig nim d swift m mm dart asm s'),
  ...each('code', 'js jsx mjs cjs ts tsx mts cts vue svelte css scss sass less graphql gql proto wat sol'),
  ...each('code', 'py pyi rb php pl pm lua r jl sh bash zsh fish ps1 bat cmd awk sql ex exs erl hrl hs ml mli fs fsx'),
  ...each('code', 'clj cljs lisp el scm vim tf hcl nix cmake mk dockerfile toml yaml yml ini cfg conf env properties'),
  ...each('code', 'jsonc json5 xml xsl xslt xsd svg rss atom plist diff patch log lock'),
}

const MEDIA_TYPES: Readonly<Record<string, DocumentFormat>> = {
  'text/markdown': 'markdown',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'application/pdf': 'pdf',
  'application/json': 'json',
  'application/x-ndjson': 'json',
  'application/jsonl': 'json',
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
  'text/javascript': 'code',
  'application/javascript': 'code',
  'application/xml': 'code',
  'text/xml': 'code',
  'application/yaml': 'code',
}

const NAMES = /^(?:makefile|dockerfile|containerfile|jenkinsfile|gemfile|rakefile|procfile|vagrantfile|\..+)$/i
const HTML = /^(?:\s|<!--(?:(?!-->)[\s\S]){0,500}-->)*<(?:!doctype\s+html|html|head|body)\b/i

/** Detects the format by the first bytes, the media type and the name, in this order. */
export function documentFormat(name: string, head: Uint8Array, mediaType?: string): DocumentFormat {
  const start = latin(head, 1024)
  if (start.startsWith('%PDF-')) return 'pdf'
  const said = sayingOf(mediaType) ?? ownValue(EXTENSIONS, extensionOf(name))
  if (said !== undefined) return said
  if (NAMES.test(posix.basename(name)) || start.startsWith('#!')) return 'code'
  if (HTML.test(start.replace(/^\xef\xbb\xbf/, ''))) return 'html'
  return 'text'
}

/** A PDF may have other bytes before its header. */
const isPdf = (head: Uint8Array): boolean => latin(head, 1024).includes('%PDF-')

const latin = (bytes: Uint8Array, most: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, most)).toString('latin1')

const extensionOf = (name: string): string => posix.extname(name).slice(1).toLowerCase()

/** Ignores `text/plain` and `application/octet-stream`: the name is more precise. */
function sayingOf(mediaType: string | undefined): DocumentFormat | undefined {
  const type = mediaType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type.endsWith('+json')) return 'json'
  return ownValue(MEDIA_TYPES, type)
}

function each(format: DocumentFormat, extensions: string): Record<string, DocumentFormat> {
  return Object.fromEntries(extensions.split(' ').map((extension) => [extension, format]))
}

/** Signatures of binary files, in Latin-1. */
const SIGNATURES: readonly (readonly [start: string, what: string])[] = [
  ['\x89PNG', 'a PNG image'],
  ['\xff\xd8\xff', 'a JPEG image'],
  ['GIF8', 'a GIF image'],
  ['II*\0', 'a TIFF image'],
  ['MM\0*', 'a TIFF image'],
  ['\0\0\x01\0', 'an icon'],
  ['RIFF', 'a sound, a video or a WebP image'],
  ['OggS', 'an Ogg sound or video'],
  ['fLaC', 'a FLAC sound'],
  ['ID3', 'an MP3 sound'],
  ['\x1aE\xdf\xa3', 'a Matroska or WebM video'],
  ['PK\x03\x04', 'a ZIP archive'],
  ['PK\x05\x06', 'an empty ZIP archive'],
  ['\x1f\x8b', 'a gzip archive'],
  ['BZh', 'a bzip2 archive'],
  ['\xfd7zXZ', 'an xz archive'],
  ["7z\xbc\xaf'\x1c", 'a 7-Zip archive'],
  ['\x28\xb5\x2f\xfd', 'a Zstandard archive'],
  ['Rar!\x1a', 'a RAR archive'],
  ['\x7fELF', 'a program'],
  ['\xca\xfe\xba\xbe', 'a program'],
  ['\xcf\xfa\xed\xfe', 'a program'],
  ['\0asm', 'a WebAssembly program'],
  ['SQLite format 3\0', 'an SQLite database'],
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'a file of an old Microsoft Office: save it as PDF'],
  ['{\\rtf', 'a rich text file: save it as PDF or HTML'],
  ['%!PS', 'a PostScript file: save it as PDF'],
  ['PAR1', 'a Parquet table'],
  ['wOFF', 'a font'],
  ['wOF2', 'a font'],
  ['OTTO', 'a font'],
  ['\0\x01\0\0', 'a font'],
]

/** ZIP-based documents, by extension. */
const ZIPPED: Readonly<Record<string, string>> = {
  docx: 'a Word document: save it as PDF or HTML',
  xlsx: 'an Excel workbook: save its sheets as CSV',
  pptx: 'a PowerPoint presentation: save it as PDF',
  odt: 'an OpenDocument text: save it as PDF or HTML',
  ods: 'an OpenDocument spreadsheet: save its sheets as CSV',
  epub: 'an EPUB book: save it as PDF or HTML',
}

/** Describes a binary file by its first bytes; undefined if it may be text. */
export function looksLike(head: Uint8Array, extension: string): string | undefined {
  const start = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, 4096)).toString('latin1')
  for (const [signature, what] of SIGNATURES) {
    if (!start.startsWith(signature)) continue
    // A signature may also be a word in a text.
    if (/^\w+$/.test(signature) && !start.includes('\0')) continue
    return what === 'a ZIP archive' ? (ownValue(ZIPPED, extension) ?? what) : what
  }
  if (start.startsWith('ftyp', 4)) return 'an MP4 video or a HEIC image'
  if (start.startsWith('ustar', 257)) return 'a tar archive'
  if (start.startsWith('MZ') && start.includes('\0')) return 'a program'
  if (start.startsWith('BM') && start.includes('\0')) return 'a bitmap image'
  return undefined
}

const MB = 1024 * 1024

/** PDFs are sent to a child process as a whole; CSV and JSON exist several times in memory. */
const SIZES: Readonly<Record<DocumentFormat, readonly [name: string, megabytes: number]>> = {
  text: ['a text', 64],
  markdown: ['a Markdown document', 64],
  code: ['a source file', 64],
  csv: ['a CSV file', 32],
  json: ['a JSON document', 32],
  pdf: ['a PDF', 32],
  html: ['a page', 64],
}

function checkSize(name: string, format: DocumentFormat, bytes: number): void {
  const [what, most] = SIZES[format]
  if (bytes <= most * MB) return
  const why = `it has ${(bytes / MB).toFixed(1)} MB, but ${what} may have at most ${most} MB; split it`
  throw new UnreadableDocument(name, 'too-large', why)
}
