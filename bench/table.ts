/** A Markdown table with its columns aligned, so that it reads as well on a terminal; numbers go to the right. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, 3, ...rows.map((row) => cell(row, column).length)),
  )
  const right = header.map((_, column) => rows.every((row) => /^[\d.,–-]/.test(cell(row, column))))
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, i) => (right[i] ? cell(cells, i).padStart(width) : cell(cells, i).padEnd(width))).join(' | ')} |`
  const rule = widths.map((width, i) => (right[i] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)))
  return [line(header), line(rule), ...rows.map(line)].join('\n')
}

const cell = (row: readonly string[], column: number): string => row[column] ?? ''
