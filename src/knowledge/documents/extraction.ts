import { extname } from 'node:path'
import type { IsolatedHandler } from '../../core/handler.ts'
import type { Isolate } from '../../core/isolate.ts'
import { silentLog } from '../../core/log.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { cleanText, type ReadDocument, UnreadableDocument, type UnreadableReason } from './document.ts'
import type { PdfPages, PdfParams } from './extract-pdf.ts'
import type { HtmlParams, HtmlPart } from './html-text.ts'
import { markdownBlocks } from './markdown-blocks.ts'
import { textBlocks, titleOf } from './text-document.ts'

export interface ExtractionOptions {
  /** The document's name: errors name it. */
  readonly name: string
  /** Where extractors run. */
  readonly isolate: Isolate
  readonly signal?: AbortSignal
  /** Whose work it is: tenants take turns. */
  readonly tenant?: string
}

/** The memory that a process needs for the largest documents: they reach it as text, and are there several times. */
export const EXTRACTION_MEMORY_MB = 256

/** How long the extraction from one document may take. */
const EXTRACTION_MS = 120_000

/** Maps the error codes of extractors to reasons. */
const REASONS: Readonly<Record<string, UnreadableReason>> = {
  PDF_ENCRYPTED: 'encrypted',
  PDF_CORRUPT: 'corrupt',
  PDF_PAGE_TOO_LARGE: 'too-large',
  HTML_TOO_LARGE: 'too-large',
}

/** The calls that take the text out of one document: outside our process, under one deadline. */
export class Extraction {
  readonly #reader: string
  readonly #options: ExtractionOptions
  readonly #late = AbortSignal.timeout(EXTRACTION_MS)
  readonly #signal: AbortSignal

  /** `reader` is what the pool's errors speak of, such as `PDF reader`. */
  constructor(reader: string, options: ExtractionOptions) {
    this.#reader = reader
    this.#options = options
    this.#signal = options.signal === undefined ? this.#late : AbortSignal.any([this.#late, options.signal])
  }

  async run(handler: IsolatedHandler, params: unknown): Promise<unknown> {
    const { isolate, tenant = 'local' } = this.#options
    const task = { ...handler, params, tenant, flags: {}, report: () => {}, log: silentLog, started: false }
    try {
      return await isolate.run({ ...task, tool: this.#reader }, this.#signal)
    } catch (error) {
      throw this.#unreadable(error) ?? error
    }
  }

  /** The error if the document caused it; undefined if the pool or the caller did. */
  #unreadable(error: unknown): UnreadableDocument | undefined {
    const { name, signal } = this.#options
    if (signal?.aborted) return undefined
    if (this.#late.aborted) {
      const why = `taking the text out took longer than ${EXTRACTION_MS / 1000} seconds`
      return new UnreadableDocument(name, 'too-slow', why, { cause: error })
    }
    if (!(error instanceof Error)) return undefined
    // The process died over it, of too much memory as a rule.
    if (error instanceof ToolExecutionError && error.extras.outcome === 'unknown') {
      return new UnreadableDocument(name, 'stopped', error.message, { cause: error })
    }
    const reason = REASONS[String((error as { code?: unknown }).code)]
    return reason && new UnreadableDocument(name, reason, error.message, { cause: error })
  }
}

/** The characters of a page that are handed over at a time, as long as paragraphs are shorter. */
const PART_CHARACTERS = 400_000

const htmlExtractor = {
  module: new URL(`./html-text${extname(import.meta.url)}`, import.meta.url).href,
  export: 'extractHtml',
}

/** A page as a document: its text as Markdown, by a process of its own. */
export async function htmlDocument(html: string, options: ExtractionOptions): Promise<ReadDocument> {
  const extraction = new Extraction('HTML reader', options)
  const page = await pageText(html, async (part) => (await extraction.run(htmlExtractor, part)) as HtmlPart)
  const text = cleanText(page.text)
  const blocks = markdownBlocks(text)
  const warnings = text === '' ? ['has no text of its own: such pages are often made by scripts'] : []
  return { format: 'html', title: titleOf(options.name, text, blocks, page.title), text, blocks, warnings }
}

/** Reads a page part by part, each from where the one before could be left. */
export async function pageText(
  html: string,
  extract: (part: HtmlParams) => Promise<HtmlPart>,
  size = PART_CHARACTERS,
): Promise<{ readonly title: string; readonly text: string }> {
  let title = ''
  let text = ''
  let state: HtmlParams['state']
  let length = size
  for (let at = 0; at < html.length; ) {
    const last = at + length >= html.length
    const part = await extract({ html: html.slice(at, at + length), last, ...(state && { state }) })
    at += part.used
    // Nowhere in the part could it be left: a larger one is needed.
    length = part.used === 0 ? length * 2 : size
    if (part.used === 0) continue
    if (text !== '' && part.text !== '') text += state?.inTable && part.text.startsWith('|') ? '\n' : '\n\n'
    text += part.text
    title ||= part.title
    state = part.state
  }
  return { title, text }
}

const pdfExtractor = {
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
    const part = (await extraction.run(pdfExtractor, params)) as PdfPages
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
