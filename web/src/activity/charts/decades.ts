interface Row {
  readonly [key: string]: string | number | null
}

/** Zero has no place on such an axis. */
export const LEAST = 0.01

/** The powers of ten around all values of the series. */
export function decades(rows: readonly Row[], series: readonly { readonly key: string }[]): [from: number, to: number] {
  const values = rows.flatMap((row) => series.map(({ key }) => row[key])).filter((value) => typeof value === 'number')
  const positive = values.map((value) => Math.max(LEAST, value))
  if (positive.length === 0) return [LEAST, 1]
  const from = 10 ** Math.floor(Math.log10(Math.min(...positive)))
  const to = 10 ** Math.ceil(Math.log10(Math.max(...positive)))
  return [from, to > from ? to : from * 10]
}

export function ticksOf([from, to]: readonly [from: number, to: number]): number[] {
  const powers = Math.round(Math.log10(to / from))
  return Array.from({ length: powers + 1 }, (_, power) => from * 10 ** power)
}
