/** Extracts the text of a PDF. Runs in a child process, see `extraction.ts`. */
import { getDocumentProxy } from 'unpdf'

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>
type TextItems = Awaited<ReturnType<Awaited<ReturnType<Pdf['getPage']>>['getTextContent']>>['items']

export interface PdfParams {
  /** Base64. */
  readonly bytes: string
  /** From 1. */
  readonly from: number
}

export interface PdfPages {
  /** May be empty. */
  readonly title: string
  /** From page `from` on. */
  readonly pages: readonly string[]
  /** Unreadable pages, which are empty in `pages`. */
  readonly damaged: readonly number[]
  /** The next page to request, or null. */
  readonly next: number | null
}

/** The size limit of a response: the channel takes 2 MB. */
const ANSWER_BYTES = 1_500_000
const MAX_DAMAGED = 20
/** A larger distance, in line heights, separates paragraphs. */
const PARAGRAPH_GAP = 1.8

/** Returns as many pages as fit into one message. */
export async function extractPdf(params: { -readonly [key in keyof PdfParams]: PdfParams[key] }): Promise<PdfPages> {
  const { from } = params
  const file = new Uint8Array(Buffer.byteLength(params.bytes, 'base64'))
  Buffer.from(file.buffer).write(params.bytes, 'base64')
  // Frees memory: a large file exists several times by now.
  params.bytes = ''
  const pdf = await open(file)
  try {
    const pages: string[] = []
    const damaged: number[] = []
    let held = 0
    let page = from
    for (; page <= pdf.numPages; page++) {
      const text = await pageText(pdf, page)
      if (text === undefined) damaged.push(page)
      if (damaged.length > MAX_DAMAGED) throw coded('PDF_CORRUPT', 'most of its pages are damaged')
      const size = Buffer.byteLength(JSON.stringify(text ?? ''))
      if (size > ANSWER_BYTES) throw coded('PDF_PAGE_TOO_LARGE', `page ${page} holds more than 1.5 MB of text`)
      held += size
      if (held > ANSWER_BYTES) break
      pages.push(text ?? '')
    }
    return { title: await titleOf(pdf), pages, damaged, next: page > pdf.numPages ? null : page }
  } finally {
    await pdf.loadingTask.destroy()
  }
}

async function open(file: Uint8Array): Promise<Pdf> {
  try {
    return await getDocumentProxy(file, {
      verbosity: 0,
      useSystemFonts: false,
      disableFontFace: true,
      useWorkerFetch: false,
      useWasm: false,
      enableXfa: false,
    })
  } catch (error) {
    const { name } = Object(error) as { name?: unknown }
    if (name === 'PasswordException') throw coded('PDF_ENCRYPTED', 'it needs a password')
    throw coded('PDF_CORRUPT', 'it is damaged')
  }
}

async function pageText(pdf: Pdf, number: number): Promise<string | undefined> {
  try {
    const page = await pdf.getPage(number)
    const { items } = await page.getTextContent()
    page.cleanup()
    return joined(items)
  } catch {
    return undefined
  }
}

/** Joins lines and paragraphs, and words hyphenated at a line end. */
function joined(items: TextItems): string {
  const parts: string[] = []
  let lineY: number | undefined
  let endOfLine = false
  for (const item of items) {
    if (!('str' in item)) continue
    const y = Number(item.transform[5])
    if (item.str !== '') {
      if (endOfLine) parts.push(lineY !== undefined && lineY - y > PARAGRAPH_GAP * item.height ? '\n\n' : '\n')
      endOfLine = false
      parts.push(item.str)
      lineY = y
    }
    endOfLine ||= item.hasEOL
  }
  return parts.join('').replaceAll(/(?<=\p{Ll})-\n(?=\p{Ll})/gu, '')
}

async function titleOf(pdf: Pdf): Promise<string> {
  try {
    const { info } = await pdf.getMetadata()
    const title = (Object(info) as { Title?: unknown }).Title
    return typeof title === 'string' ? title.trim().slice(0, 300) : ''
  } catch {
    return ''
  }
}

const coded = (code: string, message: string) => Object.assign(new Error(message), { code })
