import { expect, test } from 'vitest'
import { caseMatrix, FILTERS, stateOf } from './case-matrix.ts'

const trial = (model: string, id: string, outcome: 'passed' | 'failed' | 'not_answered', message?: string) => ({
  ...{ suite: 's', case: id, model, outcome, query: `ask ${id}` },
  ...(message !== undefined && { message }),
})
const { models, rows } = caseMatrix([
  trial('a', '1', 'passed'),
  trial('a', '2', 'failed', 'wrong tool'),
  trial('b', '1', 'passed'),
  trial('b', '2', 'passed'),
  trial('b', '2', 'failed', 'once more'),
  trial('b', '3', 'not_answered', 'timeout'),
])

test('a run is a row for each case, with a cell for each model', () => {
  expect(models).toEqual(['a', 'b'])
  expect(rows.map(({ case: id, cells }) => [id, ...cells.map(stateOf)])).toEqual([
    ['1', 'passed', 'passed'],
    ['2', 'failed', 'failed'],
    ['3', 'not judged', 'not judged'],
  ])
  expect(rows[1]).toEqual({
    ...{ suite: 's', case: '2', query: 'ask 2' },
    cells: [
      { passed: 0, judged: 1, message: 'wrong tool' },
      { passed: 1, judged: 2, message: 'once more' },
    ],
  })
})

test('cases are narrowed to failures, and to those where the models differ', () => {
  const ids = (filter: keyof typeof FILTERS, all = rows) => all.filter(FILTERS[filter].fits).map((row) => row.case)
  expect([ids('all'), ids('failures'), ids('different')]).toEqual([['1', '2', '3'], ['2'], []])
  const mixed = caseMatrix([trial('a', '1', 'passed'), trial('b', '1', 'failed')]).rows
  expect(ids('different', mixed)).toEqual(['1'])
})
