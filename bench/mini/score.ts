/** `node bench/mini/score.ts [category…]`: how well the model in the box does, by the rules of BFCL, and what it takes. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import { miniWire } from '../../src/models/mini/mini-wire.ts'
import { ProviderClient } from '../../src/models/provider-client.ts'
import { loadBfcl } from '../../src/validation/bfcl/load-bfcl.ts'

const folder = process.env.TOOLYARD_DATA_SETS ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'data')
if (!existsSync(join(folder, 'bfcl'))) {
  console.log(`Skipped: there is no ${join(folder, 'bfcl')}. The data is that of github.com/ShishirPatil/gorilla.`)
  process.exit()
}

const categories = process.argv.slice(2)
const wire = miniWire({ name: 'mini', type: 'mini' }, { log: silentLog, clock: systemClock })
const mini = new ProviderClient({ name: 'mini', type: 'mini' }, wire, { log: silentLog, clock: systemClock })
console.log('| category | cases | right | ms, middle | ms, 95 of 100 |\n| --- | --- | --- | --- | --- |')
for (const name of categories.length > 0 ? categories : ['simple_python', 'multiple', 'live_simple', 'irrelevance']) {
  const { cases } = await loadBfcl(name, folder)
  const times: number[] = []
  let right = 0
  for (const { turns, tools, judge } of cases) {
    const started = performance.now()
    const messages = turns[0] ?? []
    const { content, tool_calls = [] } = await mini.generateChat(messages, 'v0', { tools })
    times.push(performance.now() - started)
    const calls = tool_calls.map((call) => ({ tool: call.function.name, params: JSON.parse(call.function.arguments) }))
    if (judge([{ calls, answer: content ?? '' }]).passed) right++
  }
  times.sort((left, other) => left - other)
  const at = (share: number): string => (times[Math.floor(times.length * share)] ?? 0).toFixed(0)
  console.log(
    `| ${name} | ${cases.length} | ${((right / cases.length) * 100).toFixed(1)} % | ${at(0.5)} | ${at(0.95)} |`,
  )
}
const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${wire.pid}/status`, 'latin1'))?.[1]
console.log(`The process of the model holds ${Math.round(Number(resident) / 1024)} MB.`)
await mini.close()
