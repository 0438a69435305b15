import { extname } from 'node:path'
import type { Isolate, IsolatedHandler } from '../../core/handler.ts'
import { silentLog } from '../../core/log.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { cleanText, type ReadDocument, UnreadableDocument, type UnreadableReason } from './document.ts'
import type { PdfPages, PdfParams } from './extract-pdf.ts'
import type { HtmlParams, HtmlPart } from './html-text.ts'
import { markdownBlocks } from './markdown-blocks.ts'
import { textBlocks, titleOf } from './text-document.ts'

export interface ExtractionOptions {
  readonly name: string
  readonly isolate: Isolate
  readonly signal?: AbortSignal
  /** Tenants take turns. */
  readonly tenant?: string
}

/** The memory of a child process for the largest documents, which exist there several times. */
export const EXTRACTION_MEMORY_MB = 256

const EXTRACTION_TIMEOUT_MS = 120_000

const REASONS: Readonly<Record<string, UnreadableReason>> = {
  PDF_ENCRYPTED: 'encrypted',
  PDF_CORRUPT: 'corrupt',
  PDF_PAGE_TOO_LARGE: 'too-large',
  HTML_TOO_LARGE: 'too-large',
}

/**
 * Returns a function that runs extractors for one document in child processes, with one deadline. `reader` is the name
 * in the pool's errors, such as `PDF reader`.
 */
function extractor(reader: string, options: ExtractionOptions) {
  const { isolate, tenant = 'local' } = options
  const late = AbortSignal.timeout(EXTRACTION_TIMEOUT_MS)
  const signal = options.signal === undefined ? late : AbortSignal.any([late, options.signal])
  return async (handler: IsolatedHandler, params: unknown): Promise<unknown> => {
    const task = { ...handler, params, tenant, flags: {}, report: () => {}, log: silentLog, started: false }
    try {
      return await isolate.run({ ...task, tool: reader }, signal)
    } catch (error) {
      throw unreadable(error, options, late) ?? error
    }
  }
}

/** The error if the document caused it; undefined if the pool or the caller did. */
function unreadable(
  error: unknown,
  { name, signal }: ExtractionOptions,
  late: AbortSignal,
): UnreadableDocument | undefined {
  if (signal?.aborted) return undefined
  if (late.aborted) {
    const why = `extracting its text took longer than ${EXTRACTION_TIMEOUT_MS / 1000} seconds`
    return new UnreadableDocument(name, 'too-slow', why, { cause: error })
  }
  if (!(error instanceof Error)) return undefined
  // The process died, usually from lack of memory.
  if (error instanceof ToolExecutionError && error.extras.outcome === 'unknown') {
    return new UnreadableDocument(name, 'stopped', error.message, { cause: error })
  }
  const reason = REASONS[String((error as { code?: unknown }).code)]
  return reason && new UnreadableDocument(name, reason, error.message, { cause: error })
}

/** Sent to the child process at a time, unless a paragraph is longer. */
const PART_CHARACTERS = 400_000

const htmlExtractor = {
  module: new URL(`./html-text${extname(import.meta.url)}`, import.meta.url).href,
  export: 'extractHtml',
}

/** Reads HTML as Markdown. */
export async function htmlDocument(html: string, options: ExtractionOptions): Promise<ReadDocument> {
  const extract = extractor('HTML reader', options)
  const page = await pageText(html, async (part) => (await extract(htmlExtractor, part)) as HtmlPart)
  const text = cleanText(page.text)
  const blocks = markdownBlocks(text)
  const warnings = text === '' ? ['has no text: scripts probably create it'] : []
  return { format: 'html', title: titleOf(options.name, text, blocks, page.title), text, blocks, warnings }
}

/** Reads a page in parts; each continues at the last stop of the one before. */
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
    // The part has no stop: send a larger one.
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

/** Reads a PDF as text with form feeds between pages. */
export async function pdfDocument(file: Uint8Array, options: ExtractionOptions): Promise<ReadDocument> {
  const extract = extractor('PDF reader', options)
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength).toString('base64')
  const pages: string[] = []
  const damaged: number[] = []
  let said = ''
  for (let from: number | null = 1; from !== null; ) {
    const params: PdfParams = { bytes, from }
    const part = (await extract(pdfExtractor, params)) as PdfPages
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
  const why = 'its pages contain no text; run OCR on scanned pages first'
  return new UnreadableDocument(name, 'no-text', why)
}
