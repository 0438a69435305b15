import { changeBetweenMarkers } from './between-markers.ts'

const PAGE = new URL('../docs/internals/performance.md', import.meta.url)
/** Its guide shows this section too. */
const MINI = { title: 'The model in the box', page: new URL('../docs/guides/mini.md', import.meta.url) }
const COMMAND = 'npm run bench -- --write-docs'

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
  changeBetweenMarkers(PAGE, COMMAND, (report) => {
    const sections = new Map(sectionsOf(report))
    for (const { title, text } of measured) sections.set(title, text)
    return order
      .flatMap((title) => {
        const text = sections.get(title)
        return text === undefined ? [] : [`### ${title}\n\n${text.trim()}`]
      })
      .join('\n\n')
  })
  const mini = measured.find(({ title }) => title === MINI.title)
  if (mini !== undefined) changeBetweenMarkers(MINI.page, COMMAND, () => mini.text)
}

function sectionsOf(report: string): [title: string, text: string][] {
  const [, ...sections] = report.split(/^### /m)
  return sections.map((section) => {
    const [title = '', ...lines] = section.split('\n')
    return [title.trim(), lines.join('\n')]
  })
}
