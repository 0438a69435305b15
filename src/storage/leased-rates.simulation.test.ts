import fc from 'fast-check'
import { expect, test } from 'vitest'
import { silentLog } from '../core/log.ts'
import { ManualClock } from '../testing/stand-ins.ts'
import { MemoryLeases } from './fixtures/memory-leases.ts'
import { pass, settle } from './fixtures/pass-time.ts'
import { LeasedRates } from './leased-rates.ts'

const RUNS = process.env.TOOLYARD_TEST_FULL === '1' ? 400 : 80

/** The most calls in any window. */
function most(times: readonly number[], perMs: number): number {
  let [first, found] = [0, 0]
  times.forEach((time, index) => {
    while ((times[first] as number) + perMs <= time) first++
    found = Math.max(found, index - first + 1)
  })
  return found
}

test('whatever happens, servers together make no more calls in any window than the limit', async () => {
  const event = fc.record({
    afterMs: fc.integer({ min: 0, max: 1_500 }),
    kind: fc.constantFrom('calls', 'calls', 'calls', 'calls', 'down', 'up', 'die', 'close'),
    server: fc.nat(3),
    count: fc.integer({ min: 1, max: 60 }),
  })
  const plan = fc.record({
    calls: fc.integer({ min: 1, max: 120 }),
    perMs: fc.constantFrom(300, 1_000, 7_000),
    delayMs: fc.constantFrom(0, 5, 120, 1_300),
    events: fc.array(event, { minLength: 20, maxLength: 120 }),
  })
  let ran = 0
  await fc.assert(
    fc.asyncProperty(plan, async ({ calls, perMs, delayMs, events }) => {
      const clock = new ManualClock()
      const leases = new MemoryLeases(clock)
      leases.delayMs = () => delayMs
      const times: number[] = []
      let [started, upAt] = [0, Number.NEGATIVE_INFINITY]
      const start = () => {
        const name = `server ${++started}`
        return { name, rates: new LeasedRates(leases.for(name), { clock, log: silentLog }) }
      }
      const servers = Array.from({ length: 4 }, start)
      for (const { afterMs, kind, server: index, count } of events) {
        await pass(clock, afterMs)
        const { name, rates } = servers[index] as ReturnType<typeof start>
        if (kind === 'calls') {
          for (let n = 0; n < count; n++) {
            Promise.resolve(rates.take('k', { calls, perMs }, clock.now())).then(({ waitMs }) => {
              if (waitMs === 0) times.push(clock.now())
            })
          }
          await settle()
        } else if (kind === 'down' || kind === 'up') {
          leases.down = kind === 'down'
          if (kind === 'up') upAt = clock.now()
        } else if (!leases.down && clock.now() > upAt + perMs + 6_000) {
          // One goes, by a crash or in order, and another takes its place.
          if (kind === 'close') rates.close()
          await pass(clock, 1_000)
          leases.die(name)
          servers[index] = start()
        }
      }
      await pass(clock, 300)
      ran += times.length
      expect(
        most(
          times.sort((a, b) => a - b),
          perMs,
        ),
      ).toBeLessThanOrEqual(calls)
    }),
    { numRuns: RUNS },
  )
  expect(ran).toBeGreaterThan(20 * RUNS)
})
