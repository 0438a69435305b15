import { expect, test } from 'vitest'
import type { Outcome } from '../running/trial.ts'
import type { ReportedTrial, ValidationReport } from './build-report.ts'
import { compareReports } from './compare-reports.ts'

type Given = readonly [id: string, outcome: Outcome, model?: string, suite?: string]

function report(given: readonly Given[], hash = 'a'): ValidationReport {
  const trials = given.map(
    ([id, outcome, model = 's:m', suite = 'shop']): ReportedTrial => ({
      ...{ suite, model, case: id, repetition: 1, outcome, query: `Ask ${id}`, about: [] },
      ...(outcome !== 'passed' && { message: `${id} went wrong` }),
    }),
  )
  const models = [...new Set(trials.map(({ model }) => model))].map((id) => ({ id, tokens: 10, cost: 0.5 }))
  return {
    ...{ version: 1, created_at: '', repetitions: 1, complete: true, matrix: [], failures: [] },
    suites: [{ name: 'shop', hash, cases: 1 }],
    models,
    trials,
  }
}

test('tells better, worse and equal cases, and those that only one run has judged', () => {
  const { cases, counts, baseline, contender } = compareReports(
    report([
      ['a', 'passed'],
      ['b', 'failed'],
      ['c', 'passed'],
      ['d', 'not_answered'],
      ['gone', 'passed'],
    ]),
    report([
      ['a', 'failed'],
      ['b', 'passed'],
      ['c', 'passed'],
      ['d', 'passed'],
      ['new', 'passed'],
    ]),
  )
  expect(cases.map(({ case: id, change }) => [id, change])).toEqual([
    ['a', 'worse'],
    ['b', 'better'],
    ['c', 'same'],
    ['d', null],
    ['gone', null],
    ['new', null],
  ])
  expect(cases[0]).toMatchObject({ model: 's:m', contender: { passed: 0, judged: 1, message: 'a went wrong' } })
  expect([cases[4]?.contender, cases[5]?.baseline]).toEqual([null, null])
  expect(counts).toEqual({ better: 1, worse: 1, same: 1, other: 3 })
  expect(baseline).toEqual({ passed: 2, judged: 3, rate: 2 / 3, models: ['s:m'], tokens: 10, cost: 0.5 })
  expect(contender.passed).toBe(2)
})

test('is certain of a difference only outside of the confidence interval', () => {
  const many = (outcome: Outcome, count = 60): Given[] => Array.from({ length: count }, (_, at) => [`${at}`, outcome])
  const better = compareReports(report(many('failed')), report(many('passed')))
  expect(better.verdict).toBe('better')
  expect(better.sentence).toMatch(
    /^The contender is better: \+100\.0 percentage points, between \+9\d\.\d and \+100\.0/,
  )
  expect(compareReports(report(many('passed')), report(many('failed'))).verdict).toBe('worse')
  const few = compareReports(report([['a', 'failed']]), report([['a', 'passed']]))
  expect(few).toMatchObject({ verdict: 'no_difference', difference: { rate: 1 } })
  expect(few.difference?.low).toBeLessThan(0)
})

test('counts repetitions of a case together', () => {
  const { cases } = compareReports(
    report([
      ['a', 'passed'],
      ['a', 'failed'],
    ]),
    report([['a', 'passed']]),
  )
  expect(cases).toMatchObject([
    { baseline: { passed: 1, judged: 2 }, contender: { passed: 1, judged: 1 }, change: 'better' },
  ])
})

test('compares the models that both runs have, or else all of them', () => {
  const both = compareReports(
    report([
      ['a', 'passed', 's:m'],
      ['a', 'failed', 's:old'],
    ]),
    report([
      ['a', 'failed', 's:m'],
      ['a', 'passed', 's:new'],
    ]),
  )
  expect(both.cases.map(({ model, change }) => [model, change])).toEqual([['s:m', 'worse']])
  const other = compareReports(report([['a', 'failed', 's:old']]), report([['a', 'passed', 's:new']], 'b'))
  expect(other.cases.map(({ model, change }) => [model, change])).toEqual([[null, 'better']])
  expect(other.changed_suites).toEqual(['shop'])
})

test('says if there is nothing to compare', () => {
  const { verdict, difference } = compareReports(report([['a', 'not_run']]), report([['b', 'passed']]))
  expect([verdict, difference]).toEqual(['nothing_to_compare', null])
})
