import { expect, test } from 'vitest'
import { isSameAddress, isSavable, tileOf, viewText } from './saved-views.ts'

test('says what a view shows', () => {
  expect(viewText('/activity/calls?outcome=failure&error_code=TIMEOUT')).toBe(
    'Calls, outcome failure, error code TIMEOUT',
  )
  expect(viewText('/activity')).toBe('Audit log')
})

test('knows the same filters in another order', () => {
  expect(isSameAddress('/activity/runs?model=m&tool=t', '/activity/runs?tool=t&model=m')).toBe(true)
  expect(isSameAddress('/activity/runs?tool=t', '/activity/calls?tool=t')).toBe(false)
})

test('saves lists and charts, but no single call', () => {
  expect(['/activity/runs?tool=t', '/activity/metrics', '/activity/calls/a:1'].map(isSavable)).toEqual([
    true,
    true,
    false,
  ])
})

test('counts what a list shows', () => {
  const now = Date.parse('2026-01-02T12:00:30Z')
  expect(tileOf('/activity/calls?outcome=failure&last=24h', now)).toEqual({
    kind: 'rows',
    path: '/audit?type=call&outcome=failure&limit=1000&from=2026-01-01T12%3A00%3A00.000Z',
    part: 'rows',
    one: 'call',
  })
  expect(tileOf('/activity?type=all', now)).toMatchObject({ path: '/audit?limit=1000' })
  expect(tileOf('/activity/metrics?tool=pay', now)?.kind).toBe('metrics')
  expect(tileOf('/activity/objectives', now)).toBeUndefined()
})
