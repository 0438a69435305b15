import { expect, onTestFinished, test, vi } from 'vitest'
import { backgroundClock, systemClock } from './clock.ts'

const DAY_MS = 86_400_000

test.each([
  ['systemClock', systemClock],
  ['backgroundClock', backgroundClock],
])('%s waits longer than a timer of Node.js can', (_name, clock) => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const callback = vi.fn()
  clock.after(60 * DAY_MS, callback)
  const cancel = clock.after(60 * DAY_MS, () => callback('cancelled'))
  vi.advanceTimersByTime(59 * DAY_MS)
  expect(callback).not.toHaveBeenCalled()
  cancel()
  vi.advanceTimersByTime(DAY_MS)
  expect(callback.mock.calls).toEqual([[]])
})
