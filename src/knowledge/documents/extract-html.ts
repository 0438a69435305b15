/** Takes the text out of a part of a page; runs in a process of its own, see `html-document.ts`. */
import { type HtmlState, HtmlText } from './html-text.ts'

export interface HtmlParams {
  readonly html: string
  /** What the part before it ended with. */
  readonly state?: HtmlState
  /** Whether the page ends with this part; if not, only what is before the last stop counts. */
  readonly last: boolean
}

export interface HtmlPart {
  readonly title: string
  /** Markdown. */
  readonly text: string
  /** How many characters of the page the text stands for; 0 where the part is too short to say. */
  readonly used: number
  readonly state?: HtmlState
}

/** What one answer may hold: the channel takes 2 MB. */
const ANSWER_BYTES = 1_900_000

/** The text of a part of a page. */
export function extractHtml({ html, state, last }: HtmlParams): HtmlPart {
  const page = new HtmlText(html, state)
  const part = { title: page.title, ...partOf(page, html.length, last) }
  if (Buffer.byteLength(JSON.stringify(part)) <= ANSWER_BYTES) return part
  throw Object.assign(new Error('it has too much text without a paragraph'), { code: 'HTML_TOO_LARGE' })
}

function partOf({ text, stop }: HtmlText, length: number, last: boolean): Omit<HtmlPart, 'title'> {
  if (last) return { text, used: length }
  if (stop === undefined) return { text: '', used: 0 }
  return { text: text.slice(0, stop.length), used: stop.at, state: stop.state }
}
