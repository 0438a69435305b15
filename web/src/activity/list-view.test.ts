import { expect, test } from 'vitest'
import { auditPath, isNarrowed, viewOf } from './audit/audit-view.ts'
import { filtersOf, listPath } from './list-view.ts'

const NOW = Date.parse('2026-01-02T00:00:00Z')

test('reads known filters from the URL and ignores others', () => {
  const params = new URLSearchParams('model=a:b&tool=&other=1&last=24h')
  expect(filtersOf(params, ['model', 'tool'])).toEqual({ model: 'a:b', last: '24h' })
  expect(filtersOf(new URLSearchParams('last=constructor'), [])).toEqual({})
})

test('asks for a period by its start', () => {
  expect(listPath('/api/runs', { tool: 'a b', last: '24h' }, NOW, { limit: '50' })).toBe(
    '/api/runs?tool=a+b&limit=50&from=2026-01-01T00%3A00%3A00.000Z',
  )
  expect(listPath('/audit', {}, NOW, { type: 'call' })).toBe('/audit?type=call')
})

test('the audit log shows calls unless the URL says otherwise', () => {
  const view = viewOf(new URLSearchParams('tool=add&last=1h&from=2026-01-01'))
  expect(view).toEqual({ filters: { tool: 'add', from: '2026-01-01' }, last: '' })
  expect(isNarrowed(viewOf(new URLSearchParams('type=nonsense')))).toBe(false)
  expect(auditPath(viewOf(new URLSearchParams('')), NOW, {})).toBe('/audit?type=call')
  expect(auditPath(viewOf(new URLSearchParams('type=all')), NOW, {})).toBe('/audit?')
})
