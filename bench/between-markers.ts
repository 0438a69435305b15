import { readFileSync, writeFileSync } from 'node:fs'

/** Changes what stands in a page of the docs between the two markers of the command that writes it. */
export function changeBetweenMarkers(page: URL, writtenBy: string, change: (inside: string) => string): void {
  const [start, end] = ['start', 'end'].map((side) => `<!-- written by ${writtenBy}: ${side} -->`) as [string, string]
  const text = readFileSync(page, 'utf8')
  const from = text.indexOf(start)
  const to = text.indexOf(end)
  if (from === -1 || to < from) throw new Error(`${page.pathname} has lost its markers:\n${start}\n${end}`)
  const inside = from + start.length
  writeFileSync(page, `${text.slice(0, inside)}\n\n${change(text.slice(inside, to)).trim()}\n\n${text.slice(to)}`)
}
