/** Text that holds nothing but words and single spaces stays as it is: most does. */
const UNEVEN = /[\t\n\r\f\u00a0\u00ad\u200b\u2060\ufeff]| {2}/
const SPACES = /[ \t\n\r\f]+/g
/** Marks that say where a word may be divided, and nothing else. */
const INVISIBLE = /[\u00ad\u200b\u2060\ufeff]/g
/** What would be read as structure where it begins a line of text. */
const STRUCTURE = /^(?=#{1,6}\s|`{3}|~{3})/gm

/** Writes text as Markdown, block by block. What stands between `<` and `>` in a page has become calls by now. */
export class MarkdownWriter {
  readonly #blocks: string[] = []
  #length = 0
  #prefix = ''
  /** Whether line breaks in the current block become spaces. */
  #oneLine = false
  #parts: string[] = []
  #space = false

  /** Characters written, without the block that is being written. */
  get length(): number {
    return this.#length
  }

  /** Running text: white space in it is one space. */
  text(text: string): void {
    const words = UNEVEN.test(text) ? evened(text) : text
    const from = words.startsWith(' ') ? 1 : 0
    const to = words.length > 1 && words.endsWith(' ') ? words.length - 1 : words.length
    this.#space ||= from === 1
    if (from >= to) return
    if (this.#space && this.#parts.length > 0 && this.#parts.at(-1) !== '\n') this.#parts.push(' ')
    this.#parts.push(words.slice(from, to))
    this.#space = to < words.length
  }

  lineBreak(): void {
    if (this.#oneLine) this.#space = true
    else if (this.#parts.length > 0) this.#parts.push('\n')
  }

  /** Ends the block that is being written, and gives the next one a prefix: `## `, `- `. */
  block(prefix = '', oneLine = false): void {
    const text = this.#parts.join('').trim()
    if (text !== '') this.#add(this.#prefix + (this.#oneLine ? text : text.replaceAll(STRUCTURE, '\\')))
    this.#parts = []
    this.#space = false
    this.#prefix = prefix
    this.#oneLine = oneLine
  }

  /** A block as it is; `joined` to the one before it without an empty line. */
  raw(text: string, joined = false): void {
    this.block()
    if (text !== '') this.#add(text, joined)
  }

  /** All blocks that have been ended. */
  toString(): string {
    return this.#blocks.join('')
  }

  #add(block: string, joined = false): void {
    const before = this.#blocks.at(-1)
    const close = joined || (before !== undefined && ITEM.test(block) && ITEM.test(before))
    const apart = before === undefined ? '' : close ? '\n' : '\n\n'
    if (apart !== '') this.#blocks.push(apart)
    this.#blocks.push(block)
    this.#length += apart.length + block.length
  }
}

const evened = (text: string): string =>
  text.replaceAll(INVISIBLE, '').replaceAll(SPACES, ' ').replaceAll('\u00a0', ' ')

const ITEM = /^ *(?:-|\d+\.) /
