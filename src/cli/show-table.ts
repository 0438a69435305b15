import { printableLine } from './printable.ts'
import type { Terminal } from './terminal.ts'

/** Writes rows as columns, the first cell of each standing out. */
export function showTable(terminal: Terminal, rows: readonly (readonly string[])[]): void {
  const cells = rows.map((row) => row.map(printableLine))
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  for (const row of cells) {
    const [first = '', ...rest] = row.map((cell, column) =>
      column === row.length - 1 ? cell : `${cell.padEnd(widths[column] ?? 0)}  `,
    )
    terminal.result(`${terminal.style('bold', first)}${rest.join('')}`.trimEnd())
  }
}
