import { extname } from 'node:path'
import { cleanText } from './clean-text.ts'
import type { ReadDocument } from './document.ts'
import type { HtmlParams, HtmlPart } from './extract-html.ts'
import { Extraction, type ExtractionOptions } from './extraction.ts'
import { markdownBlocks } from './markdown-blocks.ts'
import { titleOf } from './title-of.ts'

/** The characters of a page that are handed over at a time, as long as paragraphs are shorter. */
const PART_CHARACTERS = 400_000

const extractor = {
  module: new URL(`./extract-html${extname(import.meta.url)}`, import.meta.url).href,
  export: 'extractHtml',
}

/** A page as a document: its text as Markdown, by a process of its own. */
export async function htmlDocument(html: string, options: ExtractionOptions): Promise<ReadDocument> {
  const extraction = new Extraction('HTML reader', options)
  const page = await pageText(html, async (part) => (await extraction.run(extractor, part)) as HtmlPart)
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
