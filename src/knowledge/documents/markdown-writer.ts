/** Most text has nothing to normalize. */
const UNEVEN = /[\t\n\r\f\u00a0\u00ad\u200b\u2060\ufeff]| {2}/
const SPACES = /[ \t\n\r\f]+/g
/** Optional hyphenation points. */
const INVISIBLE = /[\u00ad\u200b\u2060\ufeff]/g
/** Would be Markdown at the start of a line. */
const STRUCTURE = /^(?=#{1,6}\s|`{3}|~{3})/gm

/** Writes text as Markdown, block by block. */
export class MarkdownWriter {
  readonly #blocks: string[] = []
  #length = 0
  #prefix = ''
  /** Whether line breaks in the current block become spaces. */
  #oneLine = false
  #parts: string[] = []
  #space = false

  /** Without the current block. */
  get length(): number {
    return this.#length
  }

  /** Collapses white space. */
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

  /** Ends the current block; the next one gets the prefix, such as `## `. */
  block(prefix = '', oneLine = false): void {
    const text = this.#parts.join('').trim()
    if (text !== '') this.#add(this.#prefix + (this.#oneLine ? text : text.replaceAll(STRUCTURE, '\\')))
    this.#parts = []
    this.#space = false
    this.#prefix = prefix
    this.#oneLine = oneLine
  }

  /** Adds a block unchanged; `joined` leaves out the empty line before it. */
  raw(text: string, joined = false): void {
    this.block()
    if (text !== '') this.#add(text, joined)
  }

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

/** Deeper tables are read as text: each is copied into the one around it. */
const MAX_DEPTH = 4

interface Table {
  /** Rows that aren't written yet. */
  rows: string[][]
  cells: string[]
  cell: MarkdownWriter | undefined
  /** Whether the head has been written. */
  begun: boolean
}

/**
 * The open tables of a page. Rows with only single-line cells become table rows; other tables are layout, read cell by
 * cell.
 */
export class HtmlTables {
  readonly #page: MarkdownWriter
  readonly #open: Table[] = []
  #ignored = 0

  constructor(page: MarkdownWriter, inTable: boolean) {
    this.#page = page
    if (inTable) this.#open.push({ rows: [], cells: [], cell: undefined, begun: true })
  }

  get depth(): number {
    return this.#open.length + this.#ignored
  }

  /** Receives text now. */
  get writer(): MarkdownWriter {
    return this.#open.at(-1)?.cell ?? this.#around(this.#open.length)
  }

  /** Returns whether the tag belongs to a table. */
  opens(tag: string): boolean {
    if (tag === 'table') {
      if (this.#open.length === MAX_DEPTH) this.#ignored++
      this.writer.block()
      if (this.#ignored === 0) this.#open.push({ rows: [], cells: [], cell: undefined, begun: false })
      return true
    }
    const table = this.#open.at(-1)
    if (table === undefined || this.#ignored > 0) return false
    if (tag === 'td' || tag === 'th') {
      this.#endCell(table)
      table.cell = new MarkdownWriter()
    } else if (tag === 'tr' || tag === 'tbody' || tag === 'thead' || tag === 'tfoot') this.#endRow(table)
    else return false
    return true
  }

  closes(tag: string): boolean {
    const table = this.#open.at(-1)
    if (table === undefined) return false
    if (tag === 'table' && this.#ignored > 0) {
      this.#ignored--
      return false
    }
    if (this.#ignored > 0) return false
    if (tag === 'table') this.#end()
    else if (tag === 'td' || tag === 'th') this.#endCell(table)
    else if (tag === 'tr' || tag === 'tbody' || tag === 'thead' || tag === 'tfoot') this.#endRow(table)
    else return false
    return true
  }

  /** Writes the finished rows of the outermost table. */
  settle(): void {
    const [table] = this.#open
    if (table === undefined) return
    this.#endRow(table)
    this.#write(table, this.#page)
  }

  endAll(): void {
    this.#ignored = 0
    while (this.#open.length > 0) this.#end()
  }

  /** The writer that contains a table at this depth. */
  #around(depth: number): MarkdownWriter {
    for (let at = depth - 2; at >= 0; at--) {
      const cell = this.#open[at]?.cell
      if (cell !== undefined) return cell
    }
    return this.#page
  }

  #end(): void {
    const table = this.#open.at(-1) as Table
    this.#endRow(table)
    this.#write(table, this.#around(this.#open.length))
    this.#open.pop()
  }

  #endCell(table: Table): void {
    if (table.cell === undefined) return
    table.cell.block()
    table.cells.push(table.cell.toString())
    table.cell = undefined
  }

  #endRow(table: Table): void {
    this.#endCell(table)
    const { cells } = table
    table.cells = []
    if (cells.every((cell) => cell === '')) return
    if (cells.length > 1 && cells.every((cell) => !cell.includes('\n'))) {
      table.rows.push(cells)
      return
    }
    const around = this.#around(this.#open.length)
    this.#write(table, around)
    table.begun = false
    for (const cell of cells) around.raw(cell)
  }

  #write(table: Table, into: MarkdownWriter): void {
    const [first] = table.rows
    if (first === undefined) return
    const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
    const lines = table.rows.map(line)
    if (!table.begun) lines.splice(1, 0, line(first.map(() => '---')))
    into.raw(lines.join('\n'), table.begun)
    table.begun = true
    table.rows = []
  }
}
