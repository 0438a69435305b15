/**
 * `node bench/mini/score.ts [--write] [category…]`: how well the model in the box does, by the rules of BFCL, and what it
 * takes. `development` and `development_no` are requests of our own. `--write` puts each row, as soon as it is known, into
 * packages/mini/scores.json, which the server gives away, and into docs/guides/mini.md. Only counts are printed and written, no case.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { findPackages } from '../../packages/mini/src/engine/find-packages.ts'
import { systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import { miniWire } from '../../src/models/mini-wire.ts'
import type { CategoryScore } from '../../src/models/model-scores.ts'
import { ProviderClient } from '../../src/models/providers/provider-client.ts'
import { bfclCategory } from '../../src/validation/bfcl/bfcl-category.ts'
import { loadBfcl } from '../../src/validation/bfcl/load-bfcl.ts'
import { DEVELOPMENT_NOW, type DevelopmentCase, developmentCases } from './development.ts'
import { kindsOf, share } from './scores.ts'
import { writeScores } from './write-scores.ts'

/** What is scored, what can be said of it beforehand, and where its cases come from. */
interface Category extends Pick<CategoryScore, 'name' | 'own' | 'call_wanted'> {
  readonly load: () => Promise<readonly DevelopmentCase[]> | readonly DevelopmentCase[]
}

const ALL = ['development', 'development_no', 'simple_python', 'multiple', 'live_simple', 'irrelevance']
const folder = process.env.TOOLYARD_DATA_SETS ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'data')
const { write, categories } = readArguments()
const there = existsSync(join(folder, 'bfcl'))
if (!there)
  console.log(`Left out: there is no ${join(folder, 'bfcl')}. The data is that of github.com/ShishirPatil/gorilla.`)

/** Another engine for the same weights, as a path to its main file: a faster one scores the same in less time. */
const engine = process.env.TOOLYARD_MINI_ENGINE
const find: typeof findPackages = (name) => ({
  ...findPackages(name),
  ...(engine !== undefined && { runtimes: [pathToFileURL(engine).href] }),
})
const clock = { ...systemClock, wall: () => DEVELOPMENT_NOW }
const wire = await miniWire({ name: 'mini', type: 'mini' }, { log: silentLog, clock }, { find })
const mini = new ProviderClient({ name: 'mini', type: 'mini' }, wire, { log: silentLog, clock: systemClock })

console.log('| category | cases | right | ms, middle | ms, 95 of 100 | wrong |\n| --- | --- | --- | --- | --- | --- |')
for (const category of categories.filter(({ own }) => there || own)) {
  const { score, times } = await scoreOf(category)
  const at = (part: number): string => (times[Math.floor(times.length * part)] ?? 0).toFixed(0)
  const figures = [score.name, score.cases, share(score), at(0.5), at(0.95), kindsOf(score)]
  console.log(`| ${figures.join(' | ')} |`)
  if (write) await writeScores([score])
}
if (wire.pid !== undefined) {
  const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${wire.pid}/status`, 'latin1'))?.[1]
  console.log(`The process of the model uses ${Math.round(Number(resident) / 1024)} MB.`)
}
await mini.close()

/** What the command line asks for; where that makes no sense, a sentence says so and it ends. */
function readArguments(): { readonly write: boolean; readonly categories: readonly Category[] } {
  try {
    const { values, positionals } = parseArgs({ options: { write: { type: 'boolean' } }, allowPositionals: true })
    return { write: values.write === true, categories: (positionals.length > 0 ? positionals : ALL).map(categoryOf) }
  } catch (error) {
    console.error(`${(error as Error).message} Of our own there are development and development_no.`)
    process.exit(2)
  }
}

function categoryOf(given: string): Category {
  if (given === 'development')
    return { name: given, own: true, call_wanted: true, load: () => developmentCases().calls }
  if (given === 'development_no')
    return { name: given, own: true, call_wanted: false, load: () => developmentCases().no }
  const { name, rule } = bfclCategory(given)
  return { name, own: false, call_wanted: rule !== 'no_call', load: async () => (await loadBfcl(name, folder)).cases }
}

/** Asks everything of a category; the times are sorted. */
async function scoreOf({ name, own, call_wanted, load }: Category): Promise<{ score: CategoryScore; times: number[] }> {
  const cases = await load()
  const times: number[] = []
  const wrong: Record<string, number> = {}
  let right = 0
  for (const one of cases) {
    const started = performance.now()
    const mistake = await mistakeIn(one)
    times.push(performance.now() - started)
    if (mistake === undefined) right++
    else wrong[mistake] = (wrong[mistake] ?? 0) + 1
  }
  times.sort((left, other) => left - other)
  const measured = new Date().toISOString().slice(0, 10)
  return { score: { name, own, call_wanted, cases: cases.length, right, wrong, measured }, times }
}

/** Of which kind the mistake is, if there is one. */
async function mistakeIn({ turns, tools, judge }: DevelopmentCase): Promise<string | undefined> {
  const { content, tool_calls = [] } = await mini.generateChat(turns[0] ?? [], 'v1', { tools })
  const calls = tool_calls.map((call) => ({ tool: call.function.name, params: JSON.parse(call.function.arguments) }))
  const verdict = judge([{ calls, answer: content ?? '' }])
  if (verdict.passed) return undefined
  if (calls.length > 0) return verdict.kind.replaceAll('_', ' ')
  return content?.endsWith('?') ? 'asked back' : 'no call'
}
