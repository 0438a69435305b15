/**
 * Prints every scenario of the specification with ✓ (holds), ✗ (fails) or · (not yet). Takes the results of the last
 * test run when they are newer than what they depend on, and runs spec/ otherwise. `--run` always runs it.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'
import {
  judgeScenario,
  type Outcome,
  readRequirements,
  readSpecTests,
  type Scenario,
  specFaults,
} from './spec-scenarios.ts'
import { SPEC_RESULTS, type SpecResults } from './test-count.js'

const WIDTH = 110
const MARKS = { holds: styleText('green', '✓'), fails: styleText('red', '✗'), todo: styleText('dim', '·') }
const DEPENDENCIES = ['src/**', 'spec/**', 'test/**', 'docs/**', 'examples/**'] as const

const root = fileURLToPath(new URL('..', import.meta.url))
let failed = false
const files = new Set(readSpecTests().map(({ file }) => file))
const stored = process.argv.includes('--run') ? {} : resultsSince(newestDependency())
const results = Object.keys(stored).length === files.size ? stored : runSpec()
const byId = Map.groupBy(
  Object.values(results).flatMap(({ tests }) => tests),
  ({ id }) => id,
)

const total = { holds: 0, fails: 0, todo: 0 }
let section = ''
for (const requirement of readRequirements()) {
  if (requirement.section !== section) {
    section = requirement.section
    console.log(`\n${styleText('bold', section)}`)
  }
  const counts = { holds: 0, fails: 0, todo: 0 }
  const lines = requirement.scenarios.flatMap((scenario) => {
    const outcome = judgeScenario(byId.get(scenario.id) ?? [])
    counts[outcome.state]++
    total[outcome.state]++
    return describe(scenario, outcome)
  })
  console.log(`\n  ${styleText('bold', requirement.heading)}  ${styleText('dim', summary(counts))}`)
  for (const line of lines) console.log(line)
}
const faults = [...specFaults(), ...broken()]
if (failed && total.fails === 0 && faults.length === 0)
  faults.push('An error happened outside of the tests: run "npm test -- spec" to see it.')
if (faults.length > 0) console.log(`\n${styleText('red', faults.join('\n'))}`)
console.log(`\n${total.holds + total.fails + total.todo} scenarios: ${summary(total)}`)
process.exitCode = total.fails > 0 || faults.length > 0 ? 1 : 0

/** The stored results of runs that started after a time, for the files that spec/ has now. */
function resultsSince(time: number): SpecResults {
  if (!existsSync(SPEC_RESULTS)) return {}
  const all: SpecResults = JSON.parse(readFileSync(SPEC_RESULTS, 'utf8'))
  return Object.fromEntries(Object.entries(all).filter(([file, { started }]) => files.has(file) && started >= time))
}

function newestDependency(): number {
  const entries = globSync(DEPENDENCIES, { cwd: root, withFileTypes: true }).filter((entry) => entry.isFile())
  return Math.max(...entries.map(({ parentPath, name }) => statSync(`${parentPath}/${name}`).mtimeMs))
}

function runSpec(): SpecResults {
  const started = Date.now()
  const reporter = fileURLToPath(new URL('test-count.js', import.meta.url))
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project=spec', '--silent', `--reporter=${reporter}`]
  failed = spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }).status !== 0
  return resultsSince(started)
}

/** Files that did not run or did not load: their tests have no results. */
function broken(): string[] {
  return [...files].flatMap((file) =>
    (results[file]?.errors ?? ['The file did not run.']).map((message) => `spec/${file}: ${message}`),
  )
}

function describe({ id, text }: Scenario, { state, reason }: Outcome): string[] {
  const lines = wrap(`[${id}] ${text}`, 6)
  const why = reason === undefined ? [] : wrap(reason, 8).map((line) => styleText('red', line))
  return [`    ${MARKS[state]} ${lines.join('\n').trimStart()}`, ...why]
}

function summary(counts: Record<Outcome['state'], number>): string {
  return `${counts.holds} ✓ holds, ${counts.fails} ✗ fails, ${counts.todo} · not yet`
}

function wrap(text: string, indent: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    if (line !== '' && indent + line.length + 1 + word.length > WIDTH) {
      lines.push(' '.repeat(indent) + line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, ' '.repeat(indent) + line]
}
