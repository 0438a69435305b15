import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'
import { startVitest, type TestCase } from 'vitest/node'
import { type CoveredScenario, type SpecTest, specCoverage } from './spec-coverage.ts'
import { specMissing } from './spec-missing.ts'

type State = 'holds' | 'fails' | 'todo'

interface Outcome {
  readonly state: State
  readonly reason?: string
}

const WIDTH = 110
const MARKS = { holds: styleText('green', '✓'), fails: styleText('red', '✗'), todo: styleText('dim', '·') }

const folder = fileURLToPath(new URL('../spec/', import.meta.url))
const { outcomes, broken } = await run()
const total = { holds: 0, fails: 0, todo: 0 }
let section = ''
for (const { requirement, scenarios } of specCoverage()) {
  if (requirement.section !== section) {
    section = requirement.section
    const title = /^\d/.test(section) ? `${section}. ${requirement.title}` : requirement.title
    console.log(`\n${styleText('bold', title)}`)
  }
  const counts = { holds: 0, fails: 0, todo: 0 }
  const lines = scenarios.flatMap((covered) => {
    const { state, reason } = judge(covered, ({ file, name }) => outcomes.get(`${folder}${file}\n${name}`))
    counts[state]++
    total[state]++
    const text = wrap(covered.scenario, 6).join('\n')
    const why =
      reason === undefined ? [] : wrap(reason, 8).map((line) => styleText(state === 'fails' ? 'red' : 'dim', line))
    return [`    ${MARKS[state]} ${text.trimStart()}`, ...why]
  })
  console.log(`\n  ${styleText('bold', requirement.heading)}  ${styleText('dim', summary(counts))}`)
  for (const line of lines) console.log(line)
}
const faults = [...specMissing(), ...broken]
if (faults.length > 0) console.log(`\n${styleText('red', faults.join('\n'))}`)
console.log(`\n${total.holds + total.fails + total.todo} scenarios: ${summary(total)}`)
process.exit(total.fails > 0 || faults.length > 0 ? 1 : 0)

/** Runs the specification's tests; gives what became of each, by file and name, and what went wrong outside of tests. */
async function run(): Promise<{ outcomes: Map<string, Outcome>; broken: string[] }> {
  const vitest = await startVitest([folder], { watch: false, silent: true, reporters: [{}] })
  const modules = vitest.state.getTestModules()
  const outcomes = new Map<string, Outcome>()
  for (const module of modules)
    for (const test of module.children.allTests()) outcomes.set(`${module.moduleId}\n${test.name}`, outcomeOf(test))
  const broken = [
    ...modules.flatMap((module) => module.errors().map(({ message }) => `${module.relativeModuleId}: ${message}`)),
    ...vitest.state.getUnhandledErrors().map((error) => `Outside of any test: ${messageOf(error)}`),
  ]
  await vitest.close()
  return { outcomes, broken }
}

function outcomeOf(test: TestCase): Outcome {
  const { state, errors } = test.result()
  if (state === 'passed') return { state: 'holds' }
  if (test.options.mode === 'todo') return { state: 'todo' }
  return { state: 'fails', reason: errors?.[0]?.message ?? `the test was ${state}` }
}

/** A scenario holds when all its tests do, and fails as soon as one of them does. */
function judge({ tests }: CoveredScenario, outcomeOf: (test: SpecTest) => Outcome | undefined): Outcome {
  if (tests.length === 0) return { state: 'fails', reason: 'no test' }
  const waiting: string[] = []
  for (const test of tests) {
    const outcome = outcomeOf(test) ?? { state: 'fails', reason: `not run: ${test.name}` }
    if (outcome.state === 'fails') return outcome
    if (outcome.state === 'todo') waiting.push(test.name)
  }
  if (waiting.length === 0) return { state: 'holds' }
  return waiting.length === tests.length
    ? { state: 'todo' }
    : { state: 'todo', reason: `not yet: ${waiting.join('; ')}` }
}

function summary(counts: Record<State, number>): string {
  return `${counts.holds} ✓ holds, ${counts.fails} ✗ fails, ${counts.todo} · not yet`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(Object(error).message ?? error)
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
