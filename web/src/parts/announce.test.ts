import { afterEach, expect, test, vi } from 'vitest'
import { announce, announcements, subscribe } from './announce.tsx'

afterEach(() => vi.useRealTimers())

test('keeps announcements beside each other for a while, also equal ones', () => {
  vi.useFakeTimers()
  const heard = vi.fn()
  const end = subscribe(heard)
  const texts = () => announcements().map(({ text }) => text)
  announce('Ready.')
  vi.advanceTimersByTime(4_000)
  announce('Ready.')
  expect(texts()).toEqual(['Ready.', 'Ready.'])
  expect(new Set(announcements().map(({ id }) => id)).size).toBe(2)
  vi.advanceTimersByTime(1_000)
  expect(texts()).toEqual(['Ready.'])
  vi.advanceTimersByTime(4_000)
  expect(texts()).toEqual([])
  expect(heard).toHaveBeenCalledTimes(4)
  end()
})
