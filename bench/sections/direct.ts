import { readFileSync } from 'node:fs'
import { measureInChild } from '../child.ts'
import type { Contender } from '../contender.ts'
import { contenders } from '../contenders/index.ts'
import { figure, withRange } from '../figures.ts'
import type { DirectResult } from '../measures/direct.ts'
import type { Effort, Section } from '../section.ts'
import { median, spread } from '../statistics.ts'
import { table } from '../table.ts'

const FULL = { rounds: 5, pairs: 6, batchMs: 40, warmMs: 250 }
const QUICK = { rounds: 1, pairs: 3, batchMs: 20, warmMs: 100 }

/** One validated call through each contender, as a multiple of the floor. */
export const direct: Section = {
  id: 'direct',
  title: 'One call',
  async run(effort) {
    const chosen = contenders.filter(({ id }) => effort.contenders.length === 0 || effort.contenders.includes(id))
    const results = await inRounds(chosen, effort)
    return {
      raw: chosen.map(({ id, package: name }) => ({ id, version: versionOf(name), rounds: results.get(id) })),
      markdown: render(chosen, results),
    }
  },
}

/** Each round starts every contender once, so that a slow minute of the machine falls on all of them. */
async function inRounds(chosen: readonly Contender[], effort: Effort): Promise<Map<string, DirectResult[]>> {
  const { rounds, ...settings } = effort.quick ? QUICK : FULL
  const results = new Map<string, DirectResult[]>(chosen.map(({ id }) => [id, []]))
  for (let round = 1; round <= rounds; round++) {
    for (const { id } of chosen) {
      effort.progress(`round ${round} of ${rounds}: ${id}`)
      results.get(id)?.push(await measureInChild<DirectResult>('direct', { id, ...settings }))
    }
  }
  return results
}

function render(chosen: readonly Contender[], results: ReadonlyMap<string, readonly DirectResult[]>): string {
  const rows = chosen.map((contender) => {
    const rounds = results.get(contender.id) ?? []
    const of = (pick: (result: DirectResult) => number) => rounds.map(pick)
    return [
      `${contender.name} ${versionOf(contender.package)}`.trim(),
      `\`${contender.call}\``,
      figure(median(of(({ wallUs }) => wallUs))),
      figure(median(of(({ cpuUs }) => cpuUs))),
      withRange(spread(of(({ wallRatio }) => wallRatio))),
      withRange(spread(of(({ cpuRatio }) => cpuRatio))),
      rounds.every(({ validates }) => validates) ? 'yes' : 'NO',
      contender.deadline,
      contender.permission,
      contender.record,
    ]
  })
  const header = ['contender', 'what is called', 'µs', 'CPU µs', '× floor', '× floor, CPU', 'validates']
  return table([...header, 'deadline', 'permission', 'record'], rows)
}

function versionOf(name: string | undefined): string {
  if (name === undefined) return ''
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
