import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { CsvError, parse } from 'csv-parse'
import { isDeep } from '../../core/json/json-depth.ts'
import { type Block, cleanText, UnreadableDocument } from './document.ts'
import { shortened } from './markdown-blocks.ts'

interface JsonDocument {
  readonly text: string
  readonly blocks: readonly Block[]
  readonly title?: string
  readonly warnings: readonly string[]
}

const MAX_DEPTH = 200
/** Nested objects of at least `LARGE` characters become parts of their own, down to this depth. */
const MAX_PART_DEPTH = 3
const LARGE = 400
const LINE: readonly string[] = ['line']

/** Reads JSON or JSON Lines as lines of `key: value`; undefined if the text is neither. */
export function jsonDocument(text: string, name: string): JsonDocument | undefined {
  if (isDeep(text, MAX_DEPTH)) return undefined
  const writer = new RecordWriter(name)
  const warnings: string[] = []
  let title: unknown
  try {
    const value = parseJson(text)
    addValue(writer, value, [], 0)
    title = (Object(value) as { title?: unknown }).title
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    if (!addLines(writer, text, warnings)) return undefined
  }
  const written = { text: writer.text, blocks: writer.blocks, warnings }
  return typeof title === 'string' && title.trim() !== '' ? { ...written, title: title.trim() } : written
}

/** Returns false if the first line isn't JSON. */
function addLines(writer: RecordWriter, text: string, warnings: string[]): boolean {
  let bad = 0
  let number = 0
  for (const line of text.split('\n')) {
    number++
    if (line.trim() === '') continue
    try {
      writer.add(writer.lines(parseJson(line)), LINE, number)
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      if (writer.blocks.length === 0) return false
      bad++
      writer.add([line], LINE, number)
    }
  }
  if (bad > 0) warnings.push(`${bad} of its lines are not JSON and were read as text`)
  return true
}

function addValue(writer: RecordWriter, value: unknown, path: readonly string[], depth: number): void {
  if (isList(value)) {
    const items = [...path, 'item']
    for (const [index, item] of value.entries()) writer.add(writer.lines(item), items, index + 1)
  } else if (isPart(value, depth)) addMembers(writer, value, path, depth)
  else writer.add(writer.lines(value), path, 0)
}

/** Scalars first, then lists and large objects. */
function addMembers(writer: RecordWriter, value: object, path: readonly string[], depth: number): void {
  const own: string[] = []
  const parts: [key: string, value: unknown][] = []
  for (const [key, inner] of Object.entries(value)) {
    if (isList(inner) || isPart(inner, depth + 1)) parts.push([key, inner])
    else writer.lines(inner, key, own)
  }
  writer.add(own, path, 0)
  for (const [key, inner] of parts) addValue(writer, inner, [...path, shortened(cleanText(key))], depth + 1)
}

const isList = (value: unknown): value is unknown[] => Array.isArray(value) && value.some(isContainer)

/** Small objects stay in their parent; deep ones aren't split. */
function isPart(value: unknown, depth: number): value is object {
  if (!isContainer(value) || Array.isArray(value) || depth > MAX_PART_DEPTH) return false
  return depth === 0 || weigh(value, LARGE) < 0
}

/** Subtracts the length of all keys and values; negative if `left` is exceeded. */
function weigh(value: unknown, left: number): number {
  if (!isContainer(value)) return left - String(value).length
  let rest = left
  for (const [key, inner] of Object.entries(value)) {
    rest = weigh(inner, rest - key.length)
    if (rest < 0) break
  }
  return rest
}

/** Keeps numbers that JavaScript can't represent, such as long identifiers, as written. */
function parseJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source
    return typeof value === 'number' && source !== undefined && String(value) !== source ? source : value
  })
}

const SHORT = 100

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null

const scalarText = (value: unknown): string => (typeof value === 'string' ? value.trim() : String(value))

const isShort = (value: unknown): boolean =>
  !isContainer(value) && (typeof value !== 'string' || (value.length <= SHORT && !value.includes('\n')))

const MAX_CHARACTERS = 100_000_000

/** Joins records, and records their positions. */
class RecordWriter {
  readonly blocks: Block[] = []
  readonly #name: string
  #formatted = 0
  text = ''

  constructor(name: string) {
    this.#name = name
  }

  /** Formats a value as lines such as `address.city: Paris`; omits empty values. */
  lines(value: unknown, prefix = '', lines: string[] = []): string[] {
    const label = prefix === '' ? '' : `${prefix}: `
    const push = (text: string): void => {
      // A long key is repeated for each value below it.
      this.#formatted += label.length + text.length
      this.#check(this.#formatted)
      lines.push(label + text)
    }
    if (!isContainer(value)) {
      if (value !== null && value !== '') push(scalarText(value))
    } else if (!Array.isArray(value)) {
      for (const [key, inner] of Object.entries(value))
        this.lines(inner, prefix === '' ? key : `${prefix}.${key}`, lines)
    } else if (value.every(isShort)) {
      if (value.length > 0) push(value.map(scalarText).join(', '))
    } else for (const [index, inner] of value.entries()) this.lines(inner, `${prefix}[${index}]`, lines)
    return lines
  }

  add(lines: readonly string[], path: readonly string[], nth: number): void {
    const record = cleanText(lines.join('\n')).trim()
    if (record === '') return
    if (this.text !== '') this.text += '\n\n'
    const start = this.text.length
    this.text += record
    this.blocks.push({ kind: 'record', start, end: this.text.length, path, nth })
    this.#check(this.text.length)
  }

  #check(length: number): void {
    if (length <= MAX_CHARACTERS) return
    const why = `its records have more than ${MAX_CHARACTERS / 1_000_000} million characters; split it`
    throw new UnreadableDocument(this.#name, 'too-large', why)
  }
}

const DELIMITERS = [',', ';', '\t', '|']
const SAMPLE_CHARACTERS = 20_000
const MAX_RECORD = 1_000_000
const SLICE_CHARACTERS = 65_536
const ROW: readonly string[] = ['row']

/** Reads CSV as lines of `column: value`; undefined if quotes aren't closed. */
export async function csvDocument(
  text: string,
  name: string,
): Promise<{ readonly text: string; readonly blocks: readonly Block[] } | undefined> {
  const writer = new RecordWriter(name)
  const parser = parse({
    delimiter: delimiterOf(text.slice(0, SAMPLE_CHARACTERS)),
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD,
  })
  let columns: readonly string[] | undefined
  let row = 0
  try {
    for await (const cells of Readable.from(slices(text)).pipe(parser) as AsyncIterable<string[]>) {
      if (columns === undefined) {
        columns = isHead(cells) ? cells : []
        if (columns.length > 0) continue
      }
      row++
      writer.add(rowLines(columns, cells), ROW, row)
    }
  } catch (error) {
    if (error instanceof CsvError) return undefined
    throw error
  }
  if (row === 0 && columns !== undefined) writer.add([columns.join(', ')], ROW, 1)
  return { text: writer.text, blocks: writer.blocks }
}

/** The delimiter with the most consistent count per line. */
export function delimiterOf(sample: string): string {
  const lines = sample
    .replaceAll(/"[^"]*"/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, 50)
  let best = ','
  let bestScore = 0
  for (const delimiter of DELIMITERS) {
    const counts = lines.map((line) => line.split(delimiter).length - 1)
    const usual = counts[0] ?? 0
    const score = usual === 0 ? 0 : counts.filter((count) => count === usual).length
    if (score > bestScore) {
      best = delimiter
      bestScore = score
    }
  }
  return best
}

/** Column names aren't numbers. */
function isHead(cells: readonly string[]): boolean {
  const named = cells.filter((cell) => cell.trim() !== '')
  return named.length * 2 > cells.length && named.every((cell) => cell.length <= 200 && !/^[\s\d.,+%-]+$/.test(cell))
}

function rowLines(columns: readonly string[], cells: readonly string[]): string[] {
  return cells.flatMap((cell, index) => {
    const value = cell.trim()
    if (value === '') return []
    return [`${columns[index]?.trim() || `column ${index + 1}`}: ${value}`]
  })
}

/** Doesn't split surrogate pairs, and yields to the event loop between slices. */
async function* slices(text: string): AsyncGenerator<string> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + SLICE_CHARACTERS, text.length)
    if ((text.charCodeAt(to) & 0xfc00) === 0xdc00) to--
    yield text.slice(from, to)
    from = to
    await setImmediate()
  }
}
