/**
 * Gives each row a column of its own in which it is true, for as many rows as can have one (Kuhn's method: a row that
 * finds its columns taken has their holders look for others). Undefined for a row that is left without.
 */
export function assign(rows: readonly (readonly boolean[])[]): (number | undefined)[] {
  const holders = new Map<number, number>()
  const place = (row: number, asked: Set<number>): boolean => {
    for (const [column, fits] of (rows[row] as readonly boolean[]).entries()) {
      if (!fits || asked.has(column)) continue
      asked.add(column)
      const holder = holders.get(column)
      if (holder !== undefined && !place(holder, asked)) continue
      holders.set(column, row)
      return true
    }
    return false
  }
  for (const row of rows.keys()) place(row, new Set())
  const columns = new Map([...holders].map(([column, row]) => [row, column]))
  return rows.map((_row, at) => columns.get(at))
}
