import { expect, test } from 'vitest'
import {
  idOf,
  judgeScenario,
  readRequirements,
  type SpecTest,
  specFaults,
  testNames,
} from '../scripts/spec-scenarios.ts'

const MARKDOWN = ['## 1. Section', '### 1.1 Heading', '- [1.1-1] one', '- [1.1-2] two'].join('\n')

const spec = (name: string): SpecTest => ({ file: 'x.spec.ts', name, id: idOf(name) })

test('every scenario has a test, every test has a scenario, and ids are unique', () => {
  expect(readRequirements().length).toBeGreaterThan(0)
  expect(specFaults()).toEqual([])
})

test('reports a scenario without a test', () => {
  expect(specFaults(readRequirements(MARKDOWN), [spec('[1.1-1] works')])).toEqual(['Scenario [1.1-2] has no test.'])
})

test('reports a test without an id and a test with an unknown id', () => {
  const tests = ['[1.1-1] works', '[1.1-2] works too', 'works', '[1.1-3] works'].map(spec)
  expect(specFaults(readRequirements(MARKDOWN), tests)).toEqual([
    `spec/x.spec.ts: the test 'works' must begin with an id, such as "[1.3-7] ".`,
    "spec/x.spec.ts: the specification has no scenario for the test '[1.1-3] works'.",
  ])
})

test('reports an id that two scenarios have', () => {
  const tests = ['[1.1-1] works', '[1.1-2] works too'].map(spec)
  expect(specFaults(readRequirements(`${MARKDOWN}\n- [1.1-2] again`), tests)).toEqual([
    'Two scenarios have the id [1.1-2].',
  ])
})

test('rejects a bullet without an id, or with the id of another heading', () => {
  for (const bullet of ['- three', '- [1.2-1] three', '- [1.1-3]three'])
    expect(() => readRequirements(`${MARKDOWN}\n${bullet}`)).toThrow(bullet)
})

test('finds the names of tests of every form', () => {
  const source = "test('a', run); test.todo(`b`); test.each([1])('c', run); test.skip('d', run); other('e', run)"
  expect(testNames(source)).toEqual(['a', 'b', 'c', 'd'])
})

test('judges a scenario by its tests, without those that were skipped', () => {
  const results = (...states: ('passed' | 'failed' | 'skipped' | 'todo')[]) =>
    judgeScenario(states.map((state) => ({ id: '1.1-1', name: 'works', state })))
  expect(results('passed', 'skipped')).toEqual({ state: 'holds' })
  expect(results('passed', 'todo')).toEqual({ state: 'todo' })
  expect(results('passed', 'failed')).toEqual({ state: 'fails', reason: 'works: failed' })
  expect([results('skipped'), results()]).toEqual(Array(2).fill({ state: 'fails', reason: 'no test has run' }))
})
