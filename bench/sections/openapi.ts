import { measureInChild } from '../child.ts'
import { count, figure, withRange } from '../figures.ts'
import type { OpenapiResult } from '../measures/openapi.ts'
import type { Section } from '../section.ts'
import { spread } from '../statistics.ts'
import { table } from '../table.ts'

const FULL = { rounds: 3 }
const QUICK = { rounds: 1 }

/** What it takes to make tools of one of the largest documents there are. */
export const openapi: Section = {
  id: 'openapi',
  title: 'Import of an OpenAPI document',
  async run(effort) {
    const { rounds } = effort.quick ? QUICK : FULL
    const raw: OpenapiResult[] = []
    for (let round = 1; round <= rounds; round++) {
      effort.progress(`round ${round} of ${rounds}`)
      raw.push(await measureInChild<OpenapiResult>('openapi', {}))
    }
    const row = (what: string, pick: (result: OpenapiResult) => number, goal: string) => [
      what,
      withRange(spread(raw.map(pick))),
      goal,
    ]
    const rows = [
      row('time that passes, s', ({ wallS }) => wallS, '5'),
      row('processor time, s', ({ cpuS }) => cpuS, '–'),
      row('peak memory of the process, MB', ({ peakMb }) => peakMb, '500'),
    ]
    const { megabytes, found, mapped } = raw[0] ?? { megabytes: 0, found: 0, mapped: 0 }
    const made = `${count(mapped)} tools of ${count(found)} operations`
    const what = `GitHub's own document, ${figure(megabytes)} MB of JSON, read, parsed and imported: ${made}.`
    return { raw, markdown: `${what}\n\n${table(['', 'median (min–max)', 'goal, at most'], rows)}` }
  },
}
