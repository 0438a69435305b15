import { MarkdownWriter } from './markdown-writer.ts'

/** Tables inside of tables beyond this are read as running text: each has to be copied into the one around it. */
const DEEPEST = 4

interface Table {
  /** Rows of one line, as Markdown, that are not written yet. */
  rows: string[][]
  cells: string[]
  cell: MarkdownWriter | undefined
  /** Whether rows of it are written, so that the next ones go on with them. */
  begun: boolean
}

/**
 * The tables that are open on a page. A row whose cells are all of one line becomes a row in Markdown; any other table
 * only arranges the page, and its cells are read one after the other.
 */
export class HtmlTables {
  readonly #page: MarkdownWriter
  readonly #open: Table[] = []
  #ignored = 0

  /** With `inTable`, the page begins within a table. */
  constructor(page: MarkdownWriter, inTable: boolean) {
    this.#page = page
    if (inTable) this.#open.push({ rows: [], cells: [], cell: undefined, begun: true })
  }

  /** How many are open. */
  get depth(): number {
    return this.#open.length + this.#ignored
  }

  /** Where text goes now. */
  get writer(): MarkdownWriter {
    return this.#open.at(-1)?.cell ?? this.#around(this.#open.length)
  }

  /** Whether a tag that opens is about a table, and has been seen to. */
  opens(tag: string): boolean {
    if (tag === 'table') {
      if (this.#open.length === DEEPEST) this.#ignored++
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

  /** Whether a tag that closes is about a table, and has been seen to. */
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

  /** Writes the rows of the outermost table that have ended. */
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

  /** What a table at this depth is written into. */
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
