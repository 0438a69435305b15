import { extname } from 'node:path'
import { cleanText } from './clean-text.ts'
import type { ReadDocument } from './document.ts'
import type { PdfPages, PdfParams } from './extract-pdf.ts'
import { Extraction, type ExtractionOptions } from './extraction.ts'
import { textBlocks } from './text-blocks.ts'
import { titleOf } from './title-of.ts'
import { UnreadableDocument } from './unreadable-document.ts'

const extractor = {
  module: new URL(`./extract-pdf${extname(import.meta.url)}`, import.meta.url).href,
  export: 'extractPdf',
}

/** A PDF as a document: its pages as text, with form feeds between them, by a process of its own. */
export async function pdfDocument(file: Uint8Array, options: ExtractionOptions): Promise<ReadDocument> {
  const extraction = new Extraction('PDF reader', options)
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength).toString('base64')
  const pages: string[] = []
  const damaged: number[] = []
  let said = ''
  for (let from: number | null = 1; from !== null; ) {
    const params: PdfParams = { bytes, from }
    const part = (await extraction.run(extractor, params)) as PdfPages
    for (const page of part.pages) pages.push(page.replaceAll('\f', '\n'))
    damaged.push(...part.damaged)
    said = part.title
    from = part.next
  }
  const text = cleanText(pages.join('\f'))
  if (text.trim() === '') throw noText(options.name, pages.length, damaged.length)
  const blocks = textBlocks(text, true)
  const warnings = damaged.length === 0 ? [] : [`has damaged pages that could not be read: ${damaged.join(', ')}`]
  return { format: 'pdf', title: titleOf(options.name, text, blocks, cleanText(said)), text, blocks, warnings }
}

function noText(name: string, pages: number, damaged: number): UnreadableDocument {
  if (damaged > 0) return new UnreadableDocument(name, 'corrupt', 'its pages are damaged')
  if (pages === 0) return new UnreadableDocument(name, 'no-text', 'it has no pages')
  const why = 'its pages hold no text; where they are scanned, have the text recognized (OCR) first'
  return new UnreadableDocument(name, 'no-text', why)
}
