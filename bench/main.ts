import { writeFileSync } from 'node:fs'
import { type Written, writeDocsPage } from './docs-page.ts'
import { describeMachine, machine } from './machine.ts'
import { HELP, type Options, readOptions } from './options.ts'
import { sections } from './sections/index.ts'

const titles = sections.map(({ title }) => title)

function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
  else process.stderr.write(`${line}\n`)
}

async function run(options: Options): Promise<void> {
  const raw: Record<string, unknown> = { machine: machine(), quick: options.quick }
  const measured: Written[] = []
  for (const section of sections.filter(({ id }) => options.sections.includes(id))) {
    // Each says where and when: they need not be of one run.
    const where = describeMachine(machine())
    const effort = { quick: options.quick, contenders: options.contenders }
    const finding = await section.run({ ...effort, progress: (line) => progress(`${section.id}: ${line}`) })
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
    raw[section.id] = finding.raw
    const text = `${where}\n\n${finding.markdown}`
    measured.push({ title: section.title, text })
    console.log(`### ${section.title}\n\n${text}\n`)
    // After each: a run that is cut off has not been in vain.
    if (options.writeDocs) writeDocsPage(measured, titles)
  }
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(raw, undefined, 2)}\n`)
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
