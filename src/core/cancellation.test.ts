import { describe, expect, test, vi } from 'vitest'
import { ManualClock } from '../testing/stand-ins.ts'
import { pause } from './cancellation.ts'

describe('a pause', () => {
  test('resolves after its time, and not before', async () => {
    const clock = new ManualClock()
    const ended = vi.fn()
    const waiting = pause(100, clock).then(ended)
    clock.advance(99)
    await Promise.resolve()
    expect(ended).not.toHaveBeenCalled()
    clock.advance(1)
    await waiting
    expect(ended).toHaveBeenCalled()
  })

  test.each(['before', 'during'])(
    'an abort %s it ends it with the reason, and leaves no timer and no listener',
    async (when) => {
      const clock = new ManualClock()
      const controller = new AbortController()
      const reason = new Error('gone')
      if (when === 'before') controller.abort(reason)
      const waiting = pause(100, clock, controller.signal)
      controller.abort(reason)
      await expect(waiting).rejects.toBe(reason)
      expect(clock.pending).toBe(0)
    },
  )

  test('removes its listener from the signal', async () => {
    const clock = new ManualClock()
    const { signal } = new AbortController()
    const removed = vi.spyOn(signal, 'removeEventListener')
    const waiting = pause(100, clock, signal)
    clock.advance(100)
    await waiting
    expect(removed).toHaveBeenCalledOnce()
  })
})
