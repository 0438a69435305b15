// `npm run bench:retrieval`: how well the right documents are found, by vectors, by full text and by both.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { describeMachine, machine } from '../machine.ts'
import { bank } from './bank.ts'
import { numbers } from './bootstrap.ts'
import type { Corpus } from './corpus.ts'
import { measureWays } from './measure-ways.ts'
import { ownDocs } from './own-docs.ts'
import { differenceTable, qualityTable } from './report.ts'
import { openSearchable } from './searchable.ts'

const PAGE = new URL('../../docs/internals/retrieval.md', import.meta.url)
const START = '<!-- written by npm run bench:retrieval -- --write-docs: start -->'
const END = '<!-- written by npm run bench:retrieval -- --write-docs: end -->'

const HELP = `npm run bench:retrieval -- [options]

  --only NAME    one corpus: bank or own
  --write-docs   puts the tables into docs/internals/retrieval.md

The first run makes vectors of all documents, which takes minutes; they are kept in bench/.toolyard/retrieval.
`

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    'write-docs': { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
}

/** Which questions were not looked at while the search was made better: half of them, drawn by lot. */
function heldOut(count: number): (index: number) => boolean {
  const next = numbers(7)
  const lots = Array.from({ length: count }, (_, index) => ({ index, lot: next() })).sort((a, b) => a.lot - b.lot)
  const out = new Set(lots.slice(0, Math.floor(count / 2)).map(({ index }) => index))
  return (index) => out.has(index)
}

async function sectionOf(corpus: Corpus, title: string, what: string): Promise<string> {
  const searchable = await openSearchable()
  try {
    await searchable.put(corpus, (done, of) => progress(`${corpus.id}: document ${done + 1} of ${of}`))
    const measured = await measureWays(searchable, corpus, (line) => progress(`${corpus.id}: ${line}`))
    const half = qualityTable(measured, heldOut(corpus.questions.length))
    const tuned = 'The half of the questions that nothing was tuned on:'
    return [`### ${title}`, what, qualityTable(measured), differenceTable(measured), tuned, half].join('\n\n')
  } finally {
    await searchable.close()
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  }
}

function writePage(report: string): void {
  const page = readFileSync(PAGE, 'utf8')
  const [start, end] = [page.indexOf(START), page.indexOf(END)]
  if (start === -1 || end < start)
    throw new Error(`docs/internals/retrieval.md has lost its markers:\n${START}\n${END}`)
  writeFileSync(PAGE, `${page.slice(0, start + START.length)}\n\n${report}\n\n${page.slice(end)}`)
}

async function run(): Promise<void> {
  if (values.help) return console.log(HELP)
  if (values['write-docs'] && values.only !== undefined) throw new Error('--write-docs needs a full run.')
  const report = [describeMachine(machine())]
  const theBank = values.only === 'own' ? undefined : bank()
  if (theBank !== undefined) {
    const { documents, questions } = theBank
    const what = `${documents.length} documents, ${questions.length} questions.`
    report.push(await sectionOf(theBank, 'A bank’s knowledge base', what))
  }
  if (values.only !== 'bank') {
    const own = ownDocs()
    const what = `${own.documents.length} pages, ${own.questions.length} questions.`
    report.push(await sectionOf(own, 'These docs', what))
  }
  console.log(report.join('\n\n'))
  if (values['write-docs']) writePage(report.slice(1).join('\n\n'))
}

await run()
