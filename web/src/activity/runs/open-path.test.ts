import { expect, test } from 'vitest'
import { openPath } from './open-path.ts'

test('runs in progress are listed for the same model, key and tenant', () => {
  expect(openPath({})).toBe('/api/runs?status=open&limit=20')
  expect(openPath({ model: 'a:b', caller: 'key-1' })).toBe('/api/runs?status=open&limit=20&model=a%3Ab&caller=key-1')
})

test('runs in progress have no stop reason and no period', () => {
  expect(openPath({ stop_reason: 'error' })).toBeNull()
  expect(openPath({ model: 'a:b', last: '1h' })).toBeNull()
})
