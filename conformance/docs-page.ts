import { readFileSync, writeFileSync } from 'node:fs'

const PAGE = new URL('../docs/internals/conformance.md', import.meta.url)
const START = '<!-- written by npm run conformance -- --write-docs: start -->'
const END = '<!-- written by npm run conformance -- --write-docs: end -->'

/** Puts the report between the two markers of docs/internals/conformance.md. */
export function writeDocsPage(report: string): void {
  const page = readFileSync(PAGE, 'utf8')
  const start = page.indexOf(START)
  const end = page.indexOf(END)
  if (start === -1 || end < start)
    throw new Error(`docs/internals/conformance.md has lost its markers:\n${START}\n${END}`)
  writeFileSync(PAGE, `${page.slice(0, start + START.length)}\n\n${report.trim()}\n\n${page.slice(end)}`)
}
