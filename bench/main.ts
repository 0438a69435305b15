import { writeFileSync } from 'node:fs'
import { writeDocsPage } from './docs-page.ts'
import { describeMachine, machine } from './machine.ts'
import { HELP, type Options, readOptions } from './options.ts'
import { sections } from './sections/index.ts'

function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
  else process.stderr.write(`${line}\n`)
}

async function run(options: Options): Promise<void> {
  const where = machine()
  const report = [describeMachine(where)]
  const raw: Record<string, unknown> = { machine: where, quick: options.quick }
  console.log(`${report[0]}\n`)
  for (const section of sections.filter(({ id }) => options.sections.includes(id))) {
    const effort = { quick: options.quick, contenders: options.contenders }
    const finding = await section.run({ ...effort, progress: (line) => progress(`${section.id}: ${line}`) })
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
    raw[section.id] = finding.raw
    const text = `### ${section.title}\n\n${finding.markdown}`
    report.push(text)
    console.log(`${text}\n`)
  }
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(raw, undefined, 2)}\n`)
  if (options.writeDocs) writeDocsPage(report.join('\n\n'))
}

function options(): Options | 'help' {
  try {
    return readOptions(process.argv.slice(2))
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(2)
  }
}

const chosen = options()
if (chosen === 'help') console.log(HELP)
else await run(chosen)
