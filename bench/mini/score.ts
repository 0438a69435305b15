/**
 * `node bench/mini/score.ts [--write | --limit N] [--show] [category…]`: how well the model in the box does, by the rules of
 * BFCL, and what it takes. `development`, `development_no`, `development_parallel`,
 * `everyday` and `everyday_unseen` are requests of our own. `--write`
 * puts each row, as soon as it is known, into packages/mini/scores.json, which the server gives away, and into
 * docs/guides/mini.md. `--limit` asks only the first N cases of a category. Only counts are printed and written; `--show` prints
 * the failing cases too, but only those of our own that may be tuned on: never a case of `everyday_unseen` or of BFCL.
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
import { DEVELOPMENT_NOW, type DevelopmentCase, developmentCases, parallelCases } from './development.ts'
import { everydayCases } from './everyday.ts'
import { kindsOf, share } from './scores.ts'
import { writeScores } from './write-scores.ts'

/** What is scored, what can be said of it beforehand, and where its cases come from. */
interface Category extends Pick<CategoryScore, 'name' | 'own' | 'call_wanted'> {
  readonly load: () => Promise<Loaded> | Loaded
}

interface Loaded {
  readonly cases: readonly DevelopmentCase[]
  readonly close?: () => Promise<void>
}

const OWN: readonly Category[] = [
  { name: 'development', own: true, call_wanted: true, load: () => ({ cases: developmentCases().calls }) },
  { name: 'development_no', own: true, call_wanted: false, load: () => ({ cases: developmentCases().no }) },
  { name: 'development_parallel', own: true, call_wanted: true, load: () => ({ cases: parallelCases() }) },
  { name: 'everyday', own: true, call_wanted: true, load: () => everydayCases('even') },
  { name: 'everyday_unseen', own: true, call_wanted: true, load: () => everydayCases('odd') },
]
const BFCL = ['simple_python', 'multiple', 'parallel', 'parallel_multiple', 'live_simple', 'irrelevance']
const folder = process.env.TOOLYARD_DATA_SETS ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'data')
const { write, show, limit, categories } = readArguments()
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
function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      options: { write: { type: 'boolean' }, show: { type: 'boolean' }, limit: { type: 'string' } },
      allowPositionals: true,
    })
    const { write = false, show = false, limit } = values
    if (limit !== undefined && !/^[1-9]\d*$/.test(limit)) throw new Error(`--limit must be a number, not "${limit}".`)
    if (limit !== undefined && write) throw new Error('--write needs all cases: leave out --limit.')
    const categories = positionals.length > 0 ? positionals.map(categoryOf) : [...OWN, ...BFCL.map(categoryOf)]
    return { write, show, limit: limit === undefined ? undefined : Number(limit), categories }
  } catch (error) {
    console.error(`${(error as Error).message} Of our own there are ${OWN.map(({ name }) => name).join(', ')}.`)
    process.exit(2)
  }
}

function categoryOf(given: string): Category {
  const own = OWN.find(({ name }) => name === given)
  if (own !== undefined) return own
  const { name, rule } = bfclCategory(given)
  return { name, own: false, call_wanted: rule !== 'no_call', load: () => loadBfcl(name, folder) }
}

/** Asks everything of a category; the times are sorted. */
async function scoreOf({ name, own, call_wanted, load }: Category): Promise<{ score: CategoryScore; times: number[] }> {
  const loaded = await load()
  const cases = loaded.cases.slice(0, limit)
  const shown = show && own && name !== 'everyday_unseen'
  const times: number[] = []
  const wrong: Record<string, number> = {}
  let right = 0
  for (const one of cases) {
    const started = performance.now()
    const { mistake, calls } = await mistakeIn(one, () => times.push(performance.now() - started))
    if (mistake === undefined) right++
    else wrong[mistake] = (wrong[mistake] ?? 0) + 1
    if (shown && mistake !== undefined)
      console.log(`${mistake}: ${one.turns[0]?.at(-1)?.content}${calls && `\n  ${calls}`}`)
  }
  await loaded.close?.()
  times.sort((left, other) => left - other)
  const measured = new Date().toISOString().slice(0, 10)
  return { score: { name, own, call_wanted, cases: cases.length, right, wrong, measured }, times }
}

/** Of which kind the mistake is, if there is one, and what was called. */
async function mistakeIn({ turns, tools, judge }: DevelopmentCase, answered: () => void) {
  const { content, tool_calls = [] } = await mini.generateChat(turns[0] ?? [], 'v1', { tools })
  answered()
  const made = tool_calls.map((call) => ({ tool: call.function.name, params: JSON.parse(call.function.arguments) }))
  const calls = made.map(({ tool, params }) => `${tool} ${JSON.stringify(params)}`).join('; ')
  const verdict = await judge([{ calls: made, answer: content ?? '' }])
  if (verdict.passed) return { mistake: undefined, calls }
  const unmade = /^Which [^?]*\?/.test(content ?? '') ? 'asked back' : 'no call'
  return { mistake: made.length > 0 ? verdict.kind.replaceAll('_', ' ') : unmade, calls }
}
