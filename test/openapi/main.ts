import { parseArgs } from 'node:util'
import { writeDocsPage } from './docs-page.ts'
import { realDocuments } from './real-documents.ts'
import { Summary } from './summary.ts'
import { checkAll } from './work-force.ts'

const HELP = `npm run test:openapi -- [options]

  --only TEXT    only documents with that in their name, such as github/api.github.com
  --write-docs   puts the tables into docs/internals/openapi-documents.md (whole runs only)
`
const PROGRESS_MS = 5_000

function options() {
  try {
    const { values } = parseArgs({
      options: { only: { type: 'string' }, 'write-docs': { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    })
    if (values.only === undefined || !values['write-docs']) return values
    throw new Error('--write-docs is for whole runs: leave out --only.')
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${HELP}`)
    process.exit(2)
  }
}

const { only, help, 'write-docs': writeDocs } = options()
if (help) {
  console.log(HELP)
  process.exit()
}
const documents = realDocuments(only)
if (documents.length === 0) {
  console.error(`No document has '${only}' in its name.`)
  process.exit(2)
}

const started = performance.now()
const summary = new Summary()
const say = (line: string) => process.stderr.write(`${line}\n`)
const tellProgress = () =>
  say(`${Math.round((performance.now() - started) / 1000)} s, of ${documents.length} documents: ${summary}`)
const timer = setInterval(tellProgress, PROGRESS_MS)
await checkAll(documents, (finding) => {
  const before = summary.violations.length
  summary.add(finding)
  for (const violation of summary.violations.slice(before)) say(`✗ ${violation}`)
})
clearInterval(timer)
tellProgress()
for (const one of summary.unchecked) say(`- ${one}`)

const tables = summary.toMarkdown()
console.log(tables)
if (writeDocs && summary.violations.length === 0) writeDocsPage(tables)
process.exitCode = summary.violations.length === 0 ? 0 : 1
