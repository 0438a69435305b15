import { describe, expect, test } from 'vitest'
import { answering, handCase, handSuite, real } from '../running/fixtures/hand-made.ts'
import { SuiteRunner } from '../running/suite-runner.ts'
import { hashSuite } from '../running/trial.ts'
import type { Verdict } from '../suites/suite.ts'
import { buildReport } from './build-report.ts'
import { hostileReport } from './fixtures/hostile-report.ts'
import { reportFormat } from './report-format.ts'
import { cellText, matrixRows, percent } from './report-text.ts'

const cell = { passed: 0, failed: 0, not_answered: 0, not_run: 0, rate: null }

describe('the report', () => {
  test('counts judged and other trials separately, per model and suite', async () => {
    const { matrix, complete, models } = await hostileReport()
    const all = matrix.filter(({ tool }) => tool === null).map(({ lower_bound: _bound, tool: _tool, ...rest }) => rest)
    expect(all).toEqual([
      { ...cell, suite: 'hand', model: 'scripted:good', passed: 2, failed: 4, rate: 0.3333 },
      { ...cell, suite: 'second', model: 'scripted:good', passed: 2, rate: 1 },
      { ...cell, suite: 'hand', model: 'scripted:wild', failed: 4, not_answered: 2, rate: 0 },
      { ...cell, suite: 'second', model: 'scripted:wild', not_answered: 2, rate: null },
      { ...cell, suite: 'hand', model: 'scripted:paid', not_run: 6 },
      { ...cell, suite: 'second', model: 'scripted:paid', not_run: 2 },
    ])
    expect(complete).toBe(false)
    expect(models).toEqual([
      { id: 'scripted:good', tokens: expect.any(Number), cost: null },
      { id: 'scripted:wild', tokens: expect.any(Number), cost: null },
      { id: 'scripted:paid', tokens: 0, cost: 0, stopped: { reason: 'budget', message: expect.any(String) } },
    ])
  })

  test('counts each tool, and cases where no call is right', async () => {
    const report = await hostileReport()
    const rows = matrixRows(report, 'hand').map(({ title, cells }) => [title, cells[0] && cellText(cells[0])])
    expect(rows).toEqual([
      ['mail', '0% (0/2) ≥0%'],
      ['weather', '100% (2/2) ≥34%'],
      ['(no call is right)', '0% (0/2) ≥0%'],
      ['all', '33% (2/6) ≥10%'],
    ])
  })

  test('lists failures by kind, the most frequent first', async () => {
    const { failures } = await hostileReport()
    expect(failures.filter(({ model }) => model === 'scripted:wild')).toEqual([
      { suite: 'hand', model: 'scripted:wild', kind: expect.any(String), count: 2 },
      { suite: 'hand', model: 'scripted:wild', kind: expect.any(String), count: 2 },
      { suite: 'hand', model: 'scripted:wild', kind: expect.any(String), count: 2 },
      { suite: 'second', model: 'scripted:wild', kind: 'not_answered', count: 2 },
    ])
  })

  test.each([
    ['weather', { weather: 'failed' }],
    ['mail', { mail: 'failed' }],
    ['nowhere', { weather: 'failed', mail: 'failed' }],
  ])('blames only the tool that was used wrongly, if the case is about it (%s)', async (tool, expected) => {
    const verdict: Verdict = { passed: false, kind: 'wrong_value', message: 'Wrong.', tool }
    const both = handCase('both', {
      tools: [real('weather'), real('mail')],
      about: ['weather', 'mail'],
      judge: () => verdict,
    })
    const suites = [hashSuite(handSuite('hand', [both]))]
    const run = await new SuiteRunner({ suites, models: [{ model: answering('scripted:x', () => 'no') }] }).run()
    const { matrix } = buildReport(run, { suites, repetitions: 1, createdAt: '' })
    const tools = matrix.filter((one) => one.tool !== null)
    expect(Object.fromEntries(tools.map((one) => [one.tool, one.failed === 1 ? 'failed' : 'other']))).toEqual(expected)
  })

  test('reports models that miss the gate or were not judged', async () => {
    const { gate } = await hostileReport(1)
    expect(gate).toEqual({
      threshold: 1,
      met: false,
      missed: [
        { suite: 'hand', model: 'scripted:good', rate: 0.3333 },
        { suite: 'hand', model: 'scripted:wild', rate: 0 },
        { suite: 'second', model: 'scripted:wild', rate: null },
        { suite: 'hand', model: 'scripted:paid', rate: null },
        { suite: 'second', model: 'scripted:paid', rate: null },
      ],
    })
  })

  test('survives JSON', async () => {
    const report = await hostileReport(0.8)
    expect(JSON.parse(reportFormat('x/report.JSON')?.(report) ?? '')).toEqual(JSON.parse(JSON.stringify(report)))
    expect(reportFormat('report.pdf')).toBeUndefined()
  })
})

describe('a rate in percent', () => {
  test.each([
    [0, '0%'],
    [0.001, '1%'],
    [0.5, '50%'],
    [0.999, '99%'],
    [1, '100%'],
  ])('%d is %s: never rounded to all or to nothing', (rate, text) => {
    expect(percent(rate)).toBe(text)
  })
})
