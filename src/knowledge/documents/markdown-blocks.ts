import type { Block, BlockKind } from './document.ts'
import { HeadingPath } from './heading-path.ts'
import { firstInk, firstLine, lastInk, lineEnd } from './ink.ts'
import { fenceAt, frontMatterEnd, headingAt, isDelimiterRow, isItem, underlineLevel } from './markdown-lines.ts'

/** The blocks of a Markdown document: headings, paragraphs, lists, tables, code. */
export function markdownBlocks(text: string): Block[] {
  return new MarkdownScan(text).blocks
}

/** Goes over the lines once, and holds no more than the block that is open. */
class MarkdownScan {
  readonly blocks: Block[] = []
  readonly #text: string
  readonly #path = new HeadingPath()
  #kind: BlockKind | undefined
  #start = 0
  #end = 0
  #lines = 0
  #fence = ''
  /** Whether an indented line goes on with a list. */
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
    const ink = firstInk(text, start, end)
    if (this.#fence !== '') {
      this.#end = end
      const mark = ink < end ? fenceAt(text, ink, end) : ''
      if (mark.startsWith(this.#fence) && lastInk(text, ink, end) === ink + mark.length) this.#close()
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

  /** Whether a line begins something, and has been seen to. */
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

  /** What the line under a single line makes of it. */
  #secondLine(ink: number, end: number): boolean {
    const text = this.#text
    const level = underlineLevel(text, ink, end)
    if (level > 0) {
      this.#kind = undefined
      this.#heading(level, text.slice(this.#start, this.#end).trim(), this.#start, end)
      return true
    }
    const bar = text.indexOf('|', this.#start)
    if (bar === -1 || bar >= this.#end || !isDelimiterRow(text, ink, end)) return false
    this.#kind = 'table'
    this.#extend(end)
    return true
  }

  #heading(level: number, heading: string, start: number, end: number): void {
    this.#inList = false
    this.#path.enter(level, heading)
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
    // The indent of the first line belongs to a list and to code.
    const start = (kind === 'list' || kind === 'code' ? firstLine : firstInk)(this.#text, from, to)
    this.blocks.push({ kind, start, end: lastInk(this.#text, start, to), path: this.#path.current, nth: 0 })
  }
}
