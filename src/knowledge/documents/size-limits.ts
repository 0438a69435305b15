import type { DocumentFormat } from './document.ts'
import { UnreadableDocument } from './unreadable-document.ts'

const MB = 1024 * 1024

/** The most bytes that a document may have. PDF goes to another process as a whole, CSV and JSON are held several times. */
const MOST_BYTES: Readonly<Record<DocumentFormat, number>> = {
  text: 64 * MB,
  markdown: 64 * MB,
  code: 64 * MB,
  csv: 32 * MB,
  json: 32 * MB,
  pdf: 32 * MB,
  html: 64 * MB,
}

/** Refuses a document that is too large for its format. */
export function checkSize(name: string, format: DocumentFormat, bytes: number): void {
  const most = MOST_BYTES[format]
  if (bytes <= most) return
  const size = `${(bytes / MB).toFixed(1)} MB`
  const why = `it has ${size}, and ${WORDS[format]} may have at most ${most / MB} MB; divide it`
  throw new UnreadableDocument(name, 'too-large', why)
}

const WORDS: Readonly<Record<DocumentFormat, string>> = {
  text: 'a text',
  markdown: 'a Markdown document',
  code: 'a source file',
  csv: 'a CSV file',
  json: 'a JSON document',
  pdf: 'a PDF',
  html: 'a page',
}
