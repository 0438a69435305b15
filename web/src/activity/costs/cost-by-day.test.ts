import { expect, test } from 'vitest'
import { costByDay } from './cost-by-day.ts'

test('days without calls cost nothing, and days of unknown cost are gaps', () => {
  const days = [
    { day: '2026-02-28', cost: null },
    { day: '2026-03-02', cost: 0.5 },
  ]
  expect(costByDay(days, '2026-02-27', '2026-03-03')).toEqual([
    { start: '2026-02-27', cost: 0 },
    { start: '2026-02-28', cost: null },
    { start: '2026-03-01', cost: 0 },
    { start: '2026-03-02', cost: 0.5 },
  ])
})
