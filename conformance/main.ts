import { writeDocsPage } from './docs-page.ts'
import { HELP, type Options, readOptions } from './options.ts'
import { type Finding, runInChild } from './run-in-child.ts'
import { reasonsOf, tableOf, versionsOf } from './table.ts'

/** More at once would make the cases about time fail for want of a processor. */
const AT_ONCE = 2

function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
  else if (line !== '') process.stderr.write(`${line}\n`)
}

async function findAll({ adapters, cases }: Options): Promise<Map<string, Map<string, Finding>>> {
  const findings = new Map(Object.keys(adapters).map((id) => [id, new Map<string, Finding>()]))
  const jobs = Object.entries(adapters).flatMap(([id, file]) => cases.map((chosen) => ({ id, file, chosen })))
  const rest = jobs.entries()
  const work = async () => {
    for (const [index, { id, file, chosen }] of rest) {
      progress(`${index + 1} of ${jobs.length}: ${id}, ${chosen.id}`)
      findings.get(id)?.set(chosen.id, await runInChild(file, chosen.id))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  if (process.stderr.isTTY) progress('')
  return findings
}

async function run(options: Options): Promise<void> {
  const findings = await findAll(options)
  const table = tableOf(findings, options.cases)
  const report = `${versionsOf(findings)}Node ${process.versions.node}, ${process.platform}.\n\n${table}`
  if (options.json) {
    const raw = [...findings].map(([id, row]) => [id, Object.fromEntries(row)])
    console.log(JSON.stringify(Object.fromEntries(raw), undefined, 2))
  } else {
    console.log(`${report}\n\n${reasonsOf(findings, options.cases)}`)
  }
  if (options.writeDocs) writeDocsPage(`${report}\n\n### Why not\n\n${reasonsOf(findings, options.cases)}`)
  // What others fail is theirs to put right; a runtime that was asked for alone is the asker's own.
  const ours = findings.size === 1 ? [...findings.values()][0] : findings.get('toolyard')
  if ([...(ours?.values() ?? [])].some(({ status }) => status === 'fail')) process.exitCode = 1
}

function options(): Options | 'help' {
  try {
    return readOptions(process.argv.slice(2))
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(2)
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))

const chosen = options()
if (chosen === 'help') console.log(HELP)
else await run(chosen)
