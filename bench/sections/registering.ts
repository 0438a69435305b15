import { measureInChild } from '../child.ts'
import { count, withRange } from '../figures.ts'
import type { RegisteringResult } from '../measures/registering.ts'
import type { Section } from '../section.ts'
import { spread } from '../statistics.ts'
import { table } from '../table.ts'

const FULL = { rounds: 3, tools: 10_000, compiled: 500 }
const QUICK = { rounds: 1, tools: 2_000, compiled: 50 }

/** What a tool costs before it is ever called. */
export const registering: Section = {
  id: 'registering',
  title: 'Registering',
  async run(effort) {
    const { rounds, ...settings } = effort.quick ? QUICK : FULL
    const raw: RegisteringResult[] = []
    for (let round = 1; round <= rounds; round++) {
      effort.progress(`round ${round} of ${rounds}`)
      raw.push(await measureInChild<RegisteringResult>('registering', settings))
    }
    const row = (what: string, pick: (result: RegisteringResult) => number) => [what, withRange(spread(raw.map(pick)))]
    const rows = [
      row('registering a tool, µs', ({ registerUs }) => registerUs),
      row('memory of its definition itself, bytes', ({ definitionBytes }) => definitionBytes),
      row('memory that the registry adds, bytes', ({ registeredBytes }) => registeredBytes),
      row('compiling its schema, ms', ({ compileMs }) => compileMs),
      row('memory that compiling adds, bytes', ({ compiledBytes }) => compiledBytes),
    ]
    const bytes = count(raw[0]?.schemaBytes ?? Number.NaN)
    const what = `${count(settings.tools)} tools, each with its own schema of ${bytes} bytes; ${count(settings.compiled)} of them are compiled.`
    return { raw, markdown: `${what}\n\n${table(['per tool', 'median (min–max)'], rows)}` }
  },
}
