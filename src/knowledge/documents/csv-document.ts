import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { CsvError, parse } from 'csv-parse'
import type { Block } from './document.ts'
import { RecordWriter } from './record-writer.ts'

const DELIMITERS = [',', ';', '\t', '|']
const SAMPLE_CHARACTERS = 20_000
const LONGEST_RECORD = 1_000_000
const SLICE_CHARACTERS = 65_536
const ROW: readonly string[] = ['row']

/** The rows of a table as lines of `column: value`; undefined where quotes are used in a way that leaves no rows. */
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
    max_record_size: LONGEST_RECORD,
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
  // A head without rows is text all the same.
  if (row === 0 && columns !== undefined) writer.add([columns.join(', ')], ROW, 1)
  return { text: writer.toString(), blocks: writer.blocks }
}

/** The character that stands in the most lines, as often in each as in the others. */
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

/** Names of columns are texts; a row with a number in it is a row. */
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

/** Text in slices, none of which divides a character, with time for others between them. */
async function* slices(text: string): AsyncGenerator<string> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + SLICE_CHARACTERS, text.length)
    if ((text.charCodeAt(to) & 0xfc00) === 0xdc00) to--
    yield text.slice(from, to)
    from = to
    await setImmediate()
  }
}
