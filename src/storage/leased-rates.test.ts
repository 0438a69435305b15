import { describe, expect, test } from 'vitest'
import type { RateState } from '../core/rates.ts'
import { captureLog, ManualClock } from '../testing/stand-ins.ts'
import { MemoryLeases } from './fixtures/memory-leases.ts'
import { pass, settle } from './fixtures/pass-time.ts'
import { LeasedRates } from './leased-rates.ts'

function setUp() {
  const clock = new ManualClock()
  const leases = new MemoryLeases(clock)
  const log = captureLog()
  const server = (name: string) => new LeasedRates(leases.for(name), { clock, log })
  return { clock, leases, log, server }
}

const rate = { calls: 100, perMs: 10_000 }
const KEY = '100/10000 ci'

/** As many calls as asked for, at once; gives how many of them may run. */
async function calls(rates: LeasedRates, count: number, clock: ManualClock): Promise<number> {
  const asked = Promise.all(Array.from({ length: count }, async () => rates.take('ci', rate, clock.now())))
  await settle()
  return (await asked).filter(({ waitMs }) => waitMs === 0).length
}

describe('a limit that servers share', () => {
  test('the first call waits for a part, and those that find one at hand wait for nothing', async () => {
    const { clock, server } = setUp()
    const rates = server('a')
    const first = rates.take('ci', rate, clock.now())
    expect(first).toBeInstanceOf(Promise)
    expect(await first).toMatchObject({ waitMs: 0 })
    expect(rates.take('ci', rate, clock.now())).toMatchObject({ waitMs: 0 })
  })

  test('looking at a limit uses nothing of it', async () => {
    const { clock, server } = setUp()
    const rates = server('a')
    expect(rates.look('ci', rate, clock.now())).toEqual({ waitMs: 0, remaining: 100 })
    expect(await calls(rates, 40, clock)).toBe(40)
    for (let n = 0; n < 3; n++) expect(rates.look('ci', rate, clock.now())).toEqual({ waitMs: 0, remaining: 60 })
    expect(await calls(rates, 100, clock)).toBe(60)
    expect(rates.look('ci', rate, clock.now())).toMatchObject({ remaining: 0, waitMs: rate.perMs })
  })

  test('forgets the oldest sessions if there are too many, and no other limit', async () => {
    const { clock, server } = setUp()
    const rates = server('a')
    await calls(rates, 1, clock)
    const session = { ...rate, ofSession: true }
    const taken = Array.from({ length: 10_001 }, (_, n) => rates.take(`session ${n}`, session, clock.now()))
    await settle()
    await Promise.all(taken)
    const remaining = (key: string) => rates.look(key, rate, clock.now()).remaining
    expect(['ci', 'session 0', 'session 1', 'session 10000'].map(remaining)).toEqual([99, 100, 99, 99])
    await rates.close()
  })

  test('one server alone may use all of it, and no more in any window', async () => {
    const { clock, server } = setUp()
    const rates = server('a')
    expect(await calls(rates, 150, clock)).toBe(100)
    await pass(clock, rate.perMs - 50)
    expect(await calls(rates, 10, clock)).toBe(0)
    await pass(clock, 50)
    expect(await calls(rates, 150, clock)).toBe(100)
  })

  test('two servers together may make as many calls as one', async () => {
    const { clock, server } = setUp()
    const [a, b] = [server('a'), server('b')]
    const [ran, others] = await Promise.all([calls(a, 80, clock), calls(b, 80, clock)])
    // What the first keeps to spare it gives back when it does not need it.
    await pass(clock, 2_000)
    expect(ran + others + (await calls(b, 80, clock))).toBe(100)
  })

  test('other servers get unused shares at once, and used ones when their period is over', async () => {
    const { clock, server } = setUp()
    const [a, b] = [server('a'), server('b')]
    expect(await calls(a, 30, clock)).toBe(30)
    await pass(clock, 2_000)
    expect(await calls(b, 100, clock)).toBe(70)
    await pass(clock, rate.perMs - 2_050)
    expect(await calls(b, 100, clock)).toBe(0)
    await pass(clock, 550)
    expect(await calls(b, 100, clock)).toBe(30)
  })

  test('a refusal says how long it is until a call may run', async () => {
    const { clock, server } = setUp()
    const rates = server('a')
    await calls(rates, 1, clock)
    await pass(clock, 4_000)
    await calls(rates, 99, clock)
    expect(await rates.take('ci', rate, clock.now())).toEqual({ waitMs: 6_000, remaining: 0 })
  })

  test('limits of other keys, and other limits of the same key, are counted by themselves', async () => {
    const { clock, server } = setUp()
    const rates = server('a')
    expect(await calls(rates, 101, clock)).toBe(100)
    expect(await rates.take('other', rate, clock.now())).toMatchObject({ waitMs: 0 })
    expect(await rates.take('ci', { calls: 1, perMs: 1_000 }, clock.now())).toMatchObject({ waitMs: 0 })
  })

  test('a call waits no longer than 250 ms for a slow store', async () => {
    const { clock, leases, server } = setUp()
    leases.delayMs = () => 10_000
    const rates = server('a')
    let state: RateState | undefined
    Promise.resolve(rates.take('ci', rate, clock.now())).then((answer) => {
      state = answer
    })
    await pass(clock, 249)
    expect(state).toBeUndefined()
    await pass(clock, 1)
    expect(state).toEqual({ waitMs: 1_000, remaining: 0 })
  })

  test('more is asked for before it runs out: a server under steady load never lets a call wait again', async () => {
    const { clock, leases, server } = setUp()
    leases.delayMs = () => 20
    const rates = server('a')
    const first = rates.take('ci', rate, clock.now())
    await pass(clock, 100)
    await first
    for (let n = 1; n < 90; n++) {
      expect(rates.take('ci', rate, clock.now()), `call ${n}`).toMatchObject({ waitMs: 0 })
      await pass(clock, 50)
    }
  })

  test('a limit that is used up costs the store few questions, however many calls are refused', async () => {
    const { clock, leases, server } = setUp()
    const [a, b] = [server('a'), server('b')]
    await calls(a, 100, clock)
    leases.asked = 0
    for (let n = 0; n < 1_000; n++) {
      await b.take('ci', rate, clock.now())
      clock.advance(1)
    }
    expect(leases.asked).toBeLessThan(20)
  })

  test('returns idle shares, and then leaves no timer', async () => {
    const { clock, leases, server } = setUp()
    const rates = server('a')
    await calls(rates, 10, clock)
    expect(leases.held(KEY)).toBe(10 + Math.floor(100 / 8))
    await pass(clock, rate.perMs + 1_500)
    expect(leases.held(KEY)).toBe(0)
    expect(clock.pending).toBe(0)
    expect(await calls(rates, 1, clock)).toBe(1)
  })

  test('does not use a share that is being returned', async () => {
    const { clock, leases, server } = setUp()
    const rates = server('a')
    await calls(rates, 10, clock)
    expect(rates.take('ci', rate, clock.now())).not.toBeInstanceOf(Promise)
    leases.delayMs = () => 400
    await pass(clock, 1_400)
    expect(leases.held(KEY)).toBe(11 + Math.floor(100 / 8))
    expect(rates.take('ci', rate, clock.now())).toBeInstanceOf(Promise)
  })

  test('returns a share that arrives after its call has gone', async () => {
    const { clock, leases, server } = setUp()
    leases.delayMs = () => 200
    const rates = server('a')
    const asked = rates.take('ci', rate, clock.now())
    await pass(clock, 300)
    expect(await asked).toMatchObject({ remaining: 0 })
    expect(leases.held(KEY)).toBeGreaterThan(0)
    await pass(clock, 3_000)
    expect(leases.held(KEY)).toBe(0)
  })

  test('the unused share of a server that closes is available to others at once', async () => {
    const { clock, leases, server } = setUp()
    const [a, b] = [server('a'), server('b')]
    await calls(a, 10, clock)
    await a.close()
    expect(leases.held(KEY)).toBe(10)
    expect(await calls(b, 100, clock)).toBe(90)
  })

  test('the part of a server that died comes free when the time of the limit has passed', async () => {
    const { clock, leases, server } = setUp()
    const [a, b] = [server('a'), server('b')]
    expect(await calls(a, 60, clock)).toBe(60)
    leases.die('a')
    await pass(clock, rate.perMs - 100)
    expect(await calls(b, 100, clock)).toBeLessThanOrEqual(40)
    await pass(clock, 300)
    expect(await calls(b, 100, clock)).toBeGreaterThanOrEqual(60)
  })
})

describe('a store that cannot be reached', () => {
  test('a server that was alone continues with the whole limit, and logs it once', async () => {
    const { clock, leases, log, server } = setUp()
    const rates = server('a')
    await pass(clock, 20_000)
    leases.down = true
    expect(await calls(rates, 150, clock)).toBe(100)
    await pass(clock, rate.perMs)
    expect(await calls(rates, 150, clock)).toBe(100)
    leases.down = false
    await pass(clock, rate.perMs + 1_000)
    expect(await calls(rates, 150, clock)).toBe(100)
    expect(log.lines.map(({ message }) => message)).toEqual([
      'The store is unreachable: this server uses its share of every limit',
      'Limits are shared again',
    ])
  })

  test('of several each goes on with its share, when the calls of the others are past', async () => {
    const { clock, leases, server } = setUp()
    const [a, b] = [server('a'), server('b')]
    expect(await calls(a, 80, clock)).toBe(80)
    leases.down = true
    await pass(clock, 1_000)
    expect(await calls(b, 100, clock)).toBe(0)
    await pass(clock, rate.perMs - 1_000)
    expect(await calls(a, 100, clock)).toBe(50)
    await pass(clock, 6_000)
    expect(await calls(b, 100, clock)).toBe(50)
  })
})

test('a part whose answer was lost is given back when the store can be reached again', async () => {
  const { clock, leases, server } = setUp()
  leases.delayMs = () => 100
  const rates = server('a')
  const asked = rates.take('ci', rate, clock.now())
  await pass(clock, 150)
  leases.down = true
  await pass(clock, 200)
  await asked
  expect(leases.held(KEY)).toBeGreaterThan(0)
  leases.down = false
  await pass(clock, 3_000)
  expect(leases.held(KEY)).toBe(0)
})
