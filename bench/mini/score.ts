/**
 * `node bench/mini/score.ts [category…]`: how well the model in the box does, by the rules of BFCL, and what it takes.
 * `development` and `development_no` are requests of our own. Only counts are printed, no case.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import { findPackages } from '../../src/models/mini/engine/find-packages.ts'
import { miniWire } from '../../src/models/mini/mini-wire.ts'
import { ProviderClient } from '../../src/models/provider-client.ts'
import { loadBfcl } from '../../src/validation/bfcl/load-bfcl.ts'
import { DEVELOPMENT_NOW, type DevelopmentCase, developmentCases } from './development.ts'

const folder = process.env.TOOLYARD_DATA_SETS ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'data')
const DEVELOPMENT = ['development', 'development_no']
const asked = process.argv.slice(2)
const categories =
  asked.length > 0 ? asked : [...DEVELOPMENT, 'simple_python', 'multiple', 'live_simple', 'irrelevance']
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
const wire = miniWire({ name: 'mini', type: 'mini' }, { log: silentLog, clock }, find)
const mini = new ProviderClient({ name: 'mini', type: 'mini' }, wire, { log: silentLog, clock: systemClock })

async function casesOf(name: string): Promise<readonly DevelopmentCase[]> {
  if (name === 'development') return developmentCases().calls
  return name === 'development_no' ? developmentCases().no : (await loadBfcl(name, folder)).cases
}

console.log('| category | cases | right | ms, middle | ms, 95 of 100 | wrong |\n| --- | --- | --- | --- | --- | --- |')
for (const name of categories.filter((one) => there || DEVELOPMENT.includes(one))) {
  const cases = await casesOf(name)
  const times: number[] = []
  const wrong = new Map<string, number>()
  let right = 0
  for (const { turns, tools, judge } of cases) {
    const started = performance.now()
    const { content, tool_calls = [] } = await mini.generateChat(turns[0] ?? [], 'v0', { tools })
    times.push(performance.now() - started)
    const calls = tool_calls.map((call) => ({ tool: call.function.name, params: JSON.parse(call.function.arguments) }))
    const verdict = judge([{ calls, answer: content ?? '' }])
    if (verdict.passed) right++
    else {
      const silent = content?.endsWith('?') ? 'asked back' : 'no call'
      const kind = calls.length === 0 ? silent : verdict.kind.replaceAll('_', ' ')
      wrong.set(kind, (wrong.get(kind) ?? 0) + 1)
    }
  }
  times.sort((left, other) => left - other)
  const at = (share: number): string => (times[Math.floor(times.length * share)] ?? 0).toFixed(0)
  const share = ((right / cases.length) * 100).toFixed(1)
  const kinds = [...wrong].map(([kind, count]) => `${kind} ${count}`).join(', ')
  console.log(`| ${name} | ${cases.length} | ${share} % | ${at(0.5)} | ${at(0.95)} | ${kinds} |`)
}
const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${wire.pid}/status`, 'latin1'))?.[1]
console.log(`The process of the model holds ${Math.round(Number(resident) / 1024)} MB.`)
await mini.close()
