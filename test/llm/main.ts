import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/core/clock.ts'
import { loadConfigFile, silentLog, ToolManager } from '../../src/index.ts'
import { llamaWire } from '../../src/models/llama/llama-wire.ts'
import { miniWire } from '../../src/models/mini-wire.ts'
import type { Model } from '../../src/models/model.ts'
import { checks } from './checks.ts'
import { runQueries } from './queries.ts'
import { compareOnSameCases } from './same-cases.ts'
import { prepareWeights } from './weights.ts'

const OFFERED = ['get_weather', 'calculate', 'search_documents']
/** A model that does not find an end must not keep a test for ever. */
const MOST_TOKENS = 64

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const dataFolder = at('node_modules/.cache/toolyard')

process.env.TOOLYARD_DATA = dataFolder
mkdirSync(dataFolder, { recursive: true })
await prepareWeights(dataFolder)

const manager = new ToolManager((await loadConfigFile(at('../../toolyard.config.json'))).config, { log: silentLog })
await manager.loadTools()
const tools = manager
  .getRegistry()
  .definitions()
  .filter(({ name }) => OFFERED.includes(name))

const open = (grammar: boolean) => {
  const settings = { name: 'llama', type: 'llama', grammar }
  const wire = llamaWire(settings, { log: silentLog, clock: systemClock })
  const model: Model = {
    id: 'llama:tinyllama',
    stream: (request) => wire.stream('tinyllama', { max_tokens: MOST_TOKENS, ...request }),
  }
  return { wire, model }
}
const held = open(true)
const free = open(false)

/** Time that passes and time that this thread computes are told apart: on a busy machine it also waits for its turn. */
const longest = { passed: 0, computed: 0 }
let last = { passed: performance.now(), computed: process.threadCpuUsage() }
const beat = setInterval(() => {
  const now = { passed: performance.now(), computed: process.threadCpuUsage() }
  const { user, system } = process.threadCpuUsage(last.computed)
  longest.passed = Math.max(longest.passed, now.passed - last.passed)
  longest.computed = Math.max(longest.computed, (user + system) / 1000)
  last = now
}, 2)

let failed = 0
for (const { name, run } of checks(held.model, free.model, manager, tools)) {
  const started = performance.now()
  const problem = await run().then(
    () => undefined,
    (error: unknown) => error,
  )
  if (problem !== undefined) failed++
  console.log(`${problem === undefined ? '✓' : '✗'} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
  if (problem !== undefined) console.log(problem)
}

for (const [title, { model }] of [
  ['held to the grammar', held],
  ['free', free],
] as const) {
  console.log(`\nThe four queries, calls ${title}:`)
  for (const { query, calls, answer, right_tool, tokens, seconds } of await runQueries(model, manager, tools)) {
    console.log(`- ${query}\n    right tool: ${right_tool ? 'yes' : 'no'}   tokens: ${tokens}   seconds: ${seconds}`)
    console.log(`    calls:  ${calls}\n    answer: ${answer}`)
  }
}

const box = await miniWire({ name: 'mini', type: 'mini' }, { log: silentLog, clock: systemClock })
const mini: Model = { id: 'mini:v1', stream: (request) => box.stream('v1', request) }
console.log('\nThe same cases of BFCL, by the rules of BFCL:')
console.log(
  await compareOnSameCases([
    ['mini:v1', mini],
    ['llama:tinyllama, held to the grammar', held.model],
    ['llama:tinyllama, free', free.model],
  ]),
)
await box.close()

clearInterval(beat)
await Promise.all([held.wire.close(), free.wire.close(), manager.close()])
const { passed, computed } = longest
console.log(
  `\nThe longest pause of the event loop was ${passed.toFixed(0)} ms, with at most ${computed.toFixed(0)} ms of work in one.`,
)
console.log(`${failed === 0 ? 'Everything held that must hold' : `${failed} of what must hold did not`}.`)
process.exitCode = failed === 0 ? 0 : 1
