import { readdirSync, readFileSync } from 'node:fs'
import { type Argument, parseSync, Visitor } from 'oxc-parser'
import type { SpecResult } from './test-count.js'

/** A bullet of the specification. */
export interface Scenario {
  readonly id: string
  readonly text: string
}

/** A heading of the specification, with its section and its scenarios. */
export interface Requirement {
  readonly section: string
  readonly heading: string
  readonly scenarios: readonly Scenario[]
}

/** A test of the specification; `id` is undefined when its name doesn't begin with one. */
export interface SpecTest {
  readonly file: string
  readonly name: string
  readonly id: string | undefined
}

/** Whether a scenario holds, and why not. */
export interface Outcome {
  readonly state: 'holds' | 'fails' | 'todo'
  readonly reason?: string
}

const folder = new URL('../spec/', import.meta.url)

/** The id at the start of a test's name: `[1.3-7]`. */
export const idOf = (name: string): string | undefined => /^\[(\d+\.\d+-\d+)\] \S/.exec(name)?.[1]

/** Reads the specification: `## 1. Section`, `### 1.3 Heading`, `- [1.3-7] scenario`. Other bullets are an error. */
export function readRequirements(markdown = readFileSync(new URL('specification.md', folder), 'utf8')): Requirement[] {
  const requirements: { section: string; heading: string; scenarios: Scenario[] }[] = []
  let section = ''
  for (const line of markdown.split('\n')) {
    if (line.startsWith('## ')) section = line.slice(3)
    else if (line.startsWith('### ')) requirements.push({ section, heading: line.slice(4), scenarios: [] })
    else if (line.startsWith('- ')) {
      const [, id = '', heading, text = ''] = /^- \[((\d+\.\d+)-\d+)\] (.+)$/.exec(line) ?? []
      const current = requirements.at(-1)
      if (heading === undefined || !current?.heading.startsWith(`${heading} `))
        throw new Error(`A scenario must begin with an id of its heading, such as "- [1.3-7] ": ${line}`)
      current.scenarios.push({ id, text })
    }
  }
  return requirements
}

/** Every test in `spec/`, read from the source so that nothing has to run. */
export function readSpecTests(): SpecTest[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.spec.ts') && file !== 'coverage.spec.ts')
    .flatMap((file) =>
      testNames(readFileSync(new URL(file, folder), 'utf8')).map((name) => ({ file, name, id: idOf(name) })),
    )
}

/** The names of `test('name')`, `test.todo('name')`, `test.each(table)('name')` and so on. */
export function testNames(source: string): string[] {
  const names: string[] = []
  const visitor = new Visitor({
    CallExpression({ callee, arguments: [first] }) {
      let root = callee
      while (root.type === 'MemberExpression' || root.type === 'CallExpression')
        root = root.type === 'MemberExpression' ? root.object : root.callee
      if (root.type === 'Identifier' && root.name === 'test' && isName(first)) names.push(textOf(first))
    },
  })
  visitor.visit(parseSync('spec.ts', source).program)
  return names
}

type Name = Extract<Argument, { type: 'Literal' | 'TemplateLiteral' }>

const isName = (argument: Argument | undefined): argument is Name =>
  (argument?.type === 'Literal' && typeof argument.value === 'string') || argument?.type === 'TemplateLiteral'

const textOf = (name: Name): string =>
  name.type === 'Literal' ? String(name.value) : name.quasis.map(({ value }) => value.cooked).join('…')

/** What is wrong between scenarios and tests, one sentence each. */
export function specFaults(requirements = readRequirements(), tests: readonly SpecTest[] = readSpecTests()): string[] {
  const ids = requirements.flatMap(({ scenarios }) => scenarios.map(({ id }) => id))
  const known = new Set(ids)
  const tested = new Set(tests.map(({ id }) => id))
  return [
    ...ids.filter((id, index) => ids.indexOf(id) < index).map((id) => `Two scenarios have the id [${id}].`),
    ...[...known].filter((id) => !tested.has(id)).map((id) => `Scenario [${id}] has no test.`),
    ...tests.flatMap(({ file, name, id }) => {
      if (id === undefined) return [`spec/${file}: the test '${name}' must begin with an id, such as "[1.3-7] ".`]
      return known.has(id) ? [] : [`spec/${file}: the specification has no scenario for the test '${name}'.`]
    }),
  ]
}

/**
 * A scenario holds when all its tests pass, and fails when one of them fails or none has run. Tests that only
 * `npm run test:full` runs are skipped otherwise.
 */
export function judgeScenario(tests: readonly SpecResult[]): Outcome {
  const made = tests.filter(({ state }) => state !== 'skipped')
  if (made.length === 0) return { state: 'fails', reason: 'no test has run' }
  const failed = made.find(({ state }) => state === 'failed')
  if (failed) return { state: 'fails', reason: `${failed.name}: ${failed.reason ?? failed.state}` }
  return { state: made.some(({ state }) => state === 'todo') ? 'todo' : 'holds' }
}
