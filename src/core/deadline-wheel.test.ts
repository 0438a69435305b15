import { describe, expect, test } from 'vitest'
import { ManualClock } from '../testing/stand-ins.ts'
import { DeadlineEntry, DeadlineWheel } from './deadline-wheel.ts'

class Noted extends DeadlineEntry {
  readonly #note: () => void
  constructor(note: () => void) {
    super()
    this.#note = note
  }
  expire(): void {
    this.#note()
  }
}

function wheelWithClock() {
  const clock = new ManualClock()
  const wheel = new DeadlineWheel(clock)
  const fired: { name: string; at: number }[] = []
  const start = clock.now()
  const add = (name: string, ms: number) => {
    const entry = new Noted(() => fired.push({ name, at: clock.now() - start }))
    wheel.add(entry, clock.now() + ms)
    return entry
  }
  return { clock, wheel, fired, add }
}

describe('DeadlineWheel', () => {
  test('fires each entry once, at most two ticks late', () => {
    const { clock, fired, add } = wheelWithClock()
    const times = [1, 9, 10, 11, 200, 1_000, 40_950, 40_960, 41_000, 100_000]
    for (const ms of times) add(String(ms), ms)
    for (let step = 0; step < 11_000; step++) clock.advance(10)
    expect(fired.map((one) => Number(one.name)).sort((a, b) => a - b)).toEqual(times)
    for (const { name, at } of fired) {
      expect(at).toBeGreaterThanOrEqual(Number(name))
      expect(at).toBeLessThanOrEqual(Number(name) + 20)
    }
  })

  test('a removed entry never fires, and the others in its slot do', () => {
    const { clock, wheel, fired, add } = wheelWithClock()
    const [first, second, third] = [add('first', 50), add('second', 50), add('third', 50)]
    wheel.remove(second)
    wheel.remove(second)
    expect(wheel.size).toBe(2)
    clock.advance(100)
    expect(fired.map((one) => one.name).sort()).toEqual(['first', 'third'])
    expect([first.slot, third.slot]).toEqual([-1, -1])
  })

  test('after a pause longer than the whole wheel every overdue entry fires', () => {
    const { clock, fired, add } = wheelWithClock()
    for (let ms = 10; ms <= 60_000; ms += 490) add(String(ms), ms)
    clock.advance(200_000)
    expect(fired).toHaveLength(123)
  })

  test('the timer stops without entries and starts again', () => {
    const { clock, wheel, fired, add } = wheelWithClock()
    const entry = add('one', 1_000)
    wheel.remove(entry)
    clock.advance(50)
    expect(clock.pending).toBe(0)
    clock.advance(500_000)
    add('two', 30)
    clock.advance(60)
    expect(fired.map((one) => one.name)).toEqual(['two'])
  })
})
