import { expect, test } from 'vitest'
import { answering, handCase, handSuite } from './fixtures/hand-made.ts'
import { estimate, hashSuite, planTrials } from './trial.ts'

const suite = hashSuite(handSuite('hand', [handCase('one')]))
const model = answering('scripted:x', () => 'hello')
const of = (prices?: { input: number; output: number }, repeat = 1, suites = [suite]) =>
  estimate(planTrials(suites, { model, ...(prices && { prices }) }, repeat))

test('the estimate grows with the trials and their prompts', () => {
  const one = of()
  expect(one.tokens).toBeGreaterThan(100)
  expect(of(undefined, 3).tokens).toBeCloseTo(3 * one.tokens, -1)
  const long = handCase('one', { turns: [[{ role: 'user', content: 'word '.repeat(4_000) }]] })
  expect(of(undefined, 1, [hashSuite(handSuite('hand', [long]))]).tokens - one.tokens).toBeGreaterThan(4_000)
  const answered = handCase('one', { max_iterations: 5 })
  expect(of(undefined, 1, [hashSuite(handSuite('hand', [answered]))]).tokens).toBeCloseTo(2 * one.tokens, -1)
})

test('the estimate includes the cost only if the price is known', () => {
  expect(of()).not.toHaveProperty('cost')
  expect(of({ input: 10, output: 10 }).cost).toBeCloseTo(of().tokens / 100_000, 4)
  expect(of({ input: 0, output: 0 }).cost).toBe(0)
})
