import type { Block, BlockKind } from './document.ts'
import { firstLine, firstNonSpace, isSpace, lastNonSpace, lineEnd } from './text-scan.ts'

/** Finds the headings, paragraphs, lists, tables and code blocks of a Markdown document. */
export function markdownBlocks(text: string): Block[] {
  return new MarkdownScan(text).blocks
}

class MarkdownScan {
  readonly blocks: Block[] = []
  readonly #text: string
  /** The levels of the headings in `#path`, in ascending order. */
  readonly #levels: number[] = []
  #path: readonly string[] = []
  #kind: BlockKind | undefined
  #start = 0
  #end = 0
  #lines = 0
  #fence = ''
  /** Whether an indented line continues a list. */
  #inList = false

  constructor(text: string) {
    this.#text = text
    let line = frontMatterEnd(text)
    if (line > 0) this.#add('list', 0, line)
    while (line < text.length) {
      const end = lineEnd(text, line, text.length)
      this.#line(line, end)
      line = end + 1
    }
    this.#close()
  }

  #line(start: number, end: number): void {
    const text = this.#text
    const ink = firstNonSpace(text, start, end)
    if (this.#fence !== '') {
      this.#end = end
      const mark = ink < end ? fenceAt(text, ink, end) : ''
      if (mark.startsWith(this.#fence) && lastNonSpace(text, ink, end) === ink + mark.length) this.#close()
      return
    }
    if (ink === end) {
      this.#close()
      return
    }
    const indent = text.charCodeAt(start) === 9 ? 4 : ink - start
    if (this.#structure(start, ink, end, indent)) return
    if (this.#kind !== undefined) this.#extend(end)
    else {
      if (indent === 0) this.#inList = false
      this.#open(this.#inList ? 'list' : indent >= 4 ? 'code' : 'prose', start, end)
    }
  }

  /** Handles a line that starts a block. */
  #structure(start: number, ink: number, end: number, indent: number): boolean {
    const text = this.#text
    if (indent >= 4 && !this.#inList) return false
    const fence = fenceAt(text, ink, end)
    if (fence !== '') {
      this.#close()
      this.#open('code', start, end)
      this.#fence = fence
      return true
    }
    if (isItem(text, ink, end)) {
      if (this.#kind !== 'list') this.#close()
      if (this.#kind === undefined) this.#open('list', start, end)
      else this.#extend(end)
      this.#inList = true
      return true
    }
    if (indent >= 4) return false
    const heading = headingAt(text, ink, end)
    if (heading !== undefined) {
      this.#close()
      this.#heading(heading.level, heading.text, ink, end)
      return true
    }
    if (this.#kind === 'prose' && this.#lines === 1) return this.#secondLine(ink, end)
    return false
  }

  /** Turns the line above into a heading or the head of a table. */
  #secondLine(ink: number, end: number): boolean {
    const text = this.#text
    const level = underlineLevel(text, ink, end)
    if (level > 0) {
      this.#kind = undefined
      this.#heading(level, text.slice(this.#start, this.#end).trim(), this.#start, end)
      return true
    }
    // Most texts have no bar, so the search must end with the block.
    if (!isDelimiterRow(text, ink, end) || !text.slice(this.#start, this.#end).includes('|')) return false
    this.#kind = 'table'
    this.#extend(end)
    return true
  }

  #heading(level: number, heading: string, start: number, end: number): void {
    this.#inList = false
    const same = this.#levels.findIndex((one) => one >= level)
    const outer = same === -1 ? this.#levels.length : same
    this.#levels.splice(outer, Number.POSITIVE_INFINITY, level)
    this.#path = [...this.#path.slice(0, outer), shortened(heading)]
    this.#add('heading', start, end)
  }

  #open(kind: BlockKind, start: number, end: number): void {
    this.#kind = kind
    this.#start = start
    this.#end = end
    this.#lines = 1
  }

  #extend(end: number): void {
    this.#end = end
    this.#lines++
  }

  #close(): void {
    this.#fence = ''
    if (this.#kind !== undefined) this.#add(this.#kind, this.#start, this.#end)
    this.#kind = undefined
  }

  #add(kind: BlockKind, from: number, to: number): void {
    // Lists and code include the indent of their first line.
    const start = (kind === 'list' || kind === 'code' ? firstLine : firstNonSpace)(this.#text, from, to)
    this.blocks.push({ kind, start, end: lastNonSpace(this.#text, start, to), path: this.#path, nth: 0 })
  }
}

const [HASH, STAR, NINE] = [0x23, 0x2a, 0x39]
const MAX_FRONT_MATTER = 20_000
// These patterns are linear and match a line without its indent.
/** Further backticks make it inline code. */
const FENCE = /^(?:`{3,}(?=[^`]*$)|~{3,})/
/** Longer lines are text: a pattern would exhaust the stack. */
const MAX_MARKED_LINE = 10_000
const UNDERLINE = /^(?:={2,}|-{2,})\s*$/
const RULE_START = /^([-*_])\s*\1\s*\1/
const RULE = /^(?:[-\s]+|[*\s]+|[_\s]+)$/
const ITEM = /^(?:[-*+]|\d{1,10}[.)])\s/
const DELIMITER_ROW = /^[-|:\s]+$/

const fenceAt = (text: string, ink: number, end: number): string =>
  '`~'.includes(text.charAt(ink)) ? (FENCE.exec(text.slice(ink, end))?.[0] ?? '') : ''

function headingAt(
  text: string,
  ink: number,
  end: number,
): { readonly level: number; readonly text: string } | undefined {
  if (text.charCodeAt(ink) !== HASH) return undefined
  let marks = ink
  while (marks < end && text.charCodeAt(marks) === HASH) marks++
  if (marks - ink > 6 || marks === end || !isSpace(text.charCodeAt(marks))) return undefined
  let to = lastNonSpace(text, marks, end)
  let closing = to
  while (closing > marks && text.charCodeAt(closing - 1) === HASH) closing--
  if (closing > marks && isSpace(text.charCodeAt(closing - 1))) to = lastNonSpace(text, marks, closing)
  const heading = text.slice(marks, to).trim()
  return heading === '' ? undefined : { level: marks - ink, text: heading }
}

/** The level of a heading underlined with `=` or `-`, or 0. */
function underlineLevel(text: string, ink: number, end: number): number {
  if (end - ink > MAX_MARKED_LINE) return 0
  const line = text.slice(ink, end)
  if (!UNDERLINE.test(line)) return 0
  return line.startsWith('=') ? 1 : 2
}

/** Excludes thematic breaks such as `- - -`. */
function isItem(text: string, ink: number, end: number): boolean {
  const first = text.charCodeAt(ink)
  // Most lines start with a letter and need no pattern.
  if (first < STAR || first > NINE) return false
  const line = text.slice(ink, end)
  if (!ITEM.test(line)) return false
  return line.length > MAX_MARKED_LINE || !(RULE_START.test(line) && RULE.test(line))
}

function isDelimiterRow(text: string, ink: number, end: number): boolean {
  if (end - ink > MAX_MARKED_LINE) return false
  const line = text.slice(ink, end)
  return DELIMITER_ROW.test(line) && line.includes('-') && line.includes('|')
}

/** The end of the front matter between two lines of `---`, or 0. */
export function frontMatterEnd(text: string): number {
  if (!/^---[ \t]*\n(?!\s*\n)/.test(text.slice(0, 1000))) return 0
  const most = Math.min(text.length, MAX_FRONT_MATTER)
  for (let line = lineEnd(text, 0, most) + 1; line < most; ) {
    const end = lineEnd(text, line, most)
    const last = text.slice(line, lastNonSpace(text, line, end))
    if (last === '---' || last === '...') return end
    line = end + 1
  }
  return 0
}

const MAX_HEADING = 200

/** A heading becomes part of every chunk of its section. */
export const shortened = (heading: string): string =>
  heading.length <= MAX_HEADING ? heading : `${heading.slice(0, MAX_HEADING - 1).toWellFormed()}…`
