import { readFileSync, writeFileSync } from 'node:fs'

const PAGE = new URL('../docs/performance.md', import.meta.url)
const START = '<!-- written by npm run bench -- --write-docs: start -->'
const END = '<!-- written by npm run bench -- --write-docs: end -->'

/** What one section found: its title, and the text below it. */
export interface Written {
  readonly title: string
  readonly text: string
}

/**
 * Puts what was measured between the two markers of docs/performance.md, in the given order of titles. Sections that
 * were not measured this time stay as they are.
 */
export function writeDocsPage(measured: readonly Written[], order: readonly string[]): void {
  const page = readFileSync(PAGE, 'utf8')
  const start = page.indexOf(START)
  const end = page.indexOf(END)
  if (start === -1 || end < start) throw new Error(`docs/performance.md has lost its markers:\n${START}\n${END}`)
  const sections = new Map(sectionsOf(page.slice(start + START.length, end)))
  for (const { title, text } of measured) sections.set(title, text)
  const report = order.flatMap((title) => {
    const text = sections.get(title)
    return text === undefined ? [] : [`### ${title}\n\n${text.trim()}`]
  })
  writeFileSync(PAGE, `${page.slice(0, start + START.length)}\n\n${report.join('\n\n')}\n\n${page.slice(end)}`)
}

function sectionsOf(report: string): [title: string, text: string][] {
  const [, ...sections] = report.split(/^### /m)
  return sections.map((section) => {
    const [title = '', ...lines] = section.split('\n')
    return [title.trim(), lines.join('\n')]
  })
}
