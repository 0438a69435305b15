import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { decodeText } from './decode-text.ts'
import { cleanText, type DocumentFormat, type ReadDocument, UnreadableDocument } from './document.ts'
import { checkSize, documentFormat, extensionOf, isPdf, looksLike } from './document-format.ts'
import { type ExtractionOptions, htmlDocument, pdfDocument } from './extraction.ts'
import { csvDocument, jsonDocument } from './records.ts'
import { textDocument, titleOf } from './text-document.ts'

export interface ReadOptions extends ExtractionOptions {
  /** What the sender says it is, such as `text/html; charset=utf-8`. */
  readonly mediaType?: string
}

/** The text and the structure of a document, whatever its format. Throws `UnreadableDocument` where it has none. */
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

/** What a file is, by how it begins; throws where that is nothing that can be read, or `size` is too much for it. */
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
/** To open a pipe without these is to wait for whoever writes to it. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/** Reads a file as a document. What is too large, or no document by how it begins, is refused before it is read. */
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
