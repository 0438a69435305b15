/**
 * `node bench/mini/engines.ts FILE`: the model in the box on `onnxruntime-web` and on another engine, whose main file is
 * named (that of `onnxruntime-node`, installed in some other folder): start, memory and speed, in turns.
 */
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { silentLog } from '../../src/core/log.ts'
import { findPackages } from '../../src/models/mini/engine/find-packages.ts'
import type { Pair } from '../../src/models/mini/engine/pair-scorer.ts'
import { ProcessScorer } from '../../src/models/mini/engine/process-scorer.ts'
import { toolText, valueText } from '../../src/models/mini/pair-texts.ts'
import { median } from '../statistics.ts'
import { table } from '../table.ts'
import { developmentCases } from './development.ts'

const other = process.argv[2]
if (other === undefined) {
  console.error("Name the other engine's main file: node bench/mini/engines.ts …/onnxruntime-node/dist/index.js")
  process.exit(2)
}
const ROUNDS = 5
const PAIRS = 64

const packages = findPackages('mini')
const engines = [
  { name: 'onnxruntime-web', runtime: packages.runtimes.at(-1) as string },
  { name: other.replace(/^.*node_modules\//, '').replace(/\/.*$/, ''), runtime: pathToFileURL(other).href },
]
const pairs = developmentCases()
  .calls.flatMap(({ turns, tools: [tool] }): Pair[] => {
    const said = turns[0]?.at(-1)?.content ?? ''
    if (tool === undefined) return []
    const names = Object.keys((tool.parameters.properties ?? {}) as object)
    return [toolText(tool.name, tool.description, names), valueText(names[0] ?? '', '', tool.name)].map((meant) => ({
      meant,
      said,
    }))
  })
  .slice(0, PAIRS)

const found = engines.map((engine) => ({ ...engine, start: [] as number[], pair: [] as number[], mb: [] as number[] }))
for (let round = 0; round < ROUNDS; round++) {
  for (const { runtime, start, pair, mb } of found) {
    const scorer = new ProcessScorer({
      packages: { ...packages, runtimes: [runtime] },
      name: 'mini:v0',
      log: silentLog,
    })
    const begun = performance.now()
    await scorer.score(pairs.slice(0, 1))
    start.push(performance.now() - begun)
    await scorer.score(pairs)
    const warm = performance.now()
    await scorer.score(pairs)
    pair.push((performance.now() - warm) / pairs.length)
    const status = readFileSync(`/proc/${scorer.pid}/status`, 'latin1')
    mb.push(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024)
    await scorer.close()
  }
}
console.log(
  table(
    ['engine', 'start and first pair, ms', 'a pair, ms', 'memory, MB'],
    found.map(({ name, start, pair, mb }) => [
      name,
      median(start).toFixed(0),
      median(pair).toFixed(1),
      median(mb).toFixed(0),
    ]),
  ),
)
console.log(`\n${ROUNDS} processes of each in turns, one thread, ${PAIRS} pairs in batches; the middle of each.`)
