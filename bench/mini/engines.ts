/**
 * `node bench/mini/engines.ts FILE`: the model in the box on `onnxruntime-web` and on another engine, whose main file is
 * named (that of `onnxruntime-node`, installed in some other folder): start, memory and speed, in turns.
 */
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { findPackages } from '../../packages/mini/src/engine/find-packages.ts'
import { ProcessReader } from '../../packages/mini/src/engine/process-reader.ts'
import type { Question } from '../../packages/mini/src/engine/tool-reader.ts'
import { textOf } from '../../packages/mini/src/fill/read-tool.ts'
import { silentLog } from '../../src/core/log.ts'
import { textIn } from '../../src/models/content.ts'
import { startWorker } from '../../src/models/mini-wire.ts'
import { median } from '../statistics.ts'
import { table } from '../table.ts'
import { developmentCases } from './development.ts'

const other = process.argv[2]
if (other === undefined) {
  console.error("Name the other engine's main file: node bench/mini/engines.ts …/onnxruntime-node/dist/index.js")
  process.exit(2)
}
const ROUNDS = 5
const QUESTIONS = 64

const packages = findPackages('mini')
const engines = [
  { name: 'onnxruntime-web', runtime: packages.runtimes.at(-1) as string },
  { name: other.replace(/^.*node_modules\//, '').replace(/\/.*$/, ''), runtime: pathToFileURL(other).href },
]
const questions = developmentCases()
  .calls.flatMap(({ turns, tools: [tool] }): Question[] =>
    tool === undefined ? [] : [{ said: textIn(turns[0]?.at(-1)?.content ?? null), tool: textOf(tool).text }],
  )
  .slice(0, QUESTIONS)

const found = engines.map((engine) => ({
  ...engine,
  start: [] as number[],
  question: [] as number[],
  mb: [] as number[],
}))
for (let round = 0; round < ROUNDS; round++) {
  for (const { runtime, start, question, mb } of found) {
    const reader = new ProcessReader({
      packages: { ...packages, runtimes: [runtime] },
      host: { id: 'mini:v1', log: silentLog, startWorker },
    })
    const begun = performance.now()
    const [first] = questions
    if (first !== undefined) await reader.ask(undefined, (own) => own.read([first]))
    start.push(performance.now() - begun)
    const readAll = async (): Promise<void> => {
      for (const one of questions) await reader.ask(undefined, (own) => own.read([one]))
    }
    await readAll()
    const warm = performance.now()
    await readAll()
    question.push((performance.now() - warm) / questions.length)
    const status = readFileSync(`/proc/${reader.pid}/status`, 'latin1')
    mb.push(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024)
    await reader.close()
  }
}
console.log(
  table(
    ['engine', 'start and first question, ms', 'a question, ms', 'memory, MB'],
    found.map(({ name, start, question, mb }) => [
      name,
      median(start).toFixed(0),
      median(question).toFixed(1),
      median(mb).toFixed(0),
    ]),
  ),
)
console.log(
  `\n${ROUNDS} processes of each in turns, one thread, ${QUESTIONS} questions in batches; the middle of each.`,
)
