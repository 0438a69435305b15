import { readFileSync, writeFileSync } from 'node:fs'

const PAGE = new URL('../../docs/internals/openapi-documents.md', import.meta.url)
const START = '<!-- real documents -->'
const END = '<!-- end of real documents -->'

/** Puts the tables between the two markers of docs/internals/openapi-documents.md. */
export function writeDocsPage(tables: string): void {
  const page = readFileSync(PAGE, 'utf8')
  const start = page.indexOf(START)
  const end = page.indexOf(END)
  if (start === -1 || end < start)
    throw new Error(`docs/internals/openapi-documents.md has lost its markers:\n${START}\n${END}`)
  writeFileSync(PAGE, `${page.slice(0, start + START.length)}\n\n${tables}\n\n${page.slice(end)}`)
}
