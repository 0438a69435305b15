import { expect, test } from 'vitest'
import { CHANGES, comparable } from './compared-runs.ts'

const run = (id: string, suites: string[], more: object = {}) => ({
  id,
  request: { suites, models: ['s:m'] },
  ended_at: '2026-01-01T00:00:00Z',
  error: null,
  ...more,
})

test('offers the ended runs that share a suite', () => {
  const runs = [
    run('own', ['a']),
    run('same', ['a']),
    run('more', ['b', 'a']),
    run('other', ['b']),
    run('open', ['a'], { ended_at: null }),
    run('failed', ['a'], { error: 'no' }),
  ]
  expect(comparable(run('own', ['a']), runs).map(({ id }) => id)).toEqual(['same', 'more'])
})

test('filters by change', () => {
  const cases = (['better', 'worse', 'same', null] as const).map((change) => ({ change }))
  const counts = Object.values(CHANGES).map(({ fits }) => cases.filter(fits).length)
  expect(counts).toEqual([4, 2, 1, 1])
})
