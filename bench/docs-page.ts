import { changeBetweenMarkers } from './between-markers.ts'

const PAGE = new URL('../docs/internals/performance.md', import.meta.url)

/** What one section found: its title, and the text below it. */
export interface Written {
  readonly title: string
  readonly text: string
}

/**
 * Puts what was measured between the two markers of docs/internals/performance.md, in the given order of titles. Sections that
 * were not measured this time stay as they are.
 */
export function writeDocsPage(measured: readonly Written[], order: readonly string[]): void {
  changeBetweenMarkers(PAGE, 'npm run bench -- --write-docs', (report) => {
    const sections = new Map(sectionsOf(report))
    for (const { title, text } of measured) sections.set(title, text)
    return order
      .flatMap((title) => {
        const text = sections.get(title)
        return text === undefined ? [] : [`### ${title}\n\n${text.trim()}`]
      })
      .join('\n\n')
  })
}

function sectionsOf(report: string): [title: string, text: string][] {
  const [, ...sections] = report.split(/^### /m)
  return sections.map((section) => {
    const [title = '', ...lines] = section.split('\n')
    return [title.trim(), lines.join('\n')]
  })
}
