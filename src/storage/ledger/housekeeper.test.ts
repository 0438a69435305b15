import { describe, expect, test } from 'vitest'
import { call, openLedger, run, settle } from './fixtures/open-ledger.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

describe('chains of the dead', () => {
  async function dead() {
    const one = openLedger({ instance: 'dead' })
    await one.ledger.append([call(), call(), call()], [])
    one.stored.alive.delete('dead')
    return one.stored
  }

  test('are sealed soon after the start of another server', async () => {
    const stored = await dead()
    const { ledger, clock } = openLedger({ instance: 'server-2', stored })
    clock.advance(1_000)
    await settle()
    expect(stored.seals).toMatchObject([{ chain: 'dead', fromSeq: 1, toSeq: 3, lastHash: stored.rows[2]?.hash }])
    expect((await ledger.verify()).unsealed).toBe(0)
  })

  test('get one seal if two servers make it at once', async () => {
    const stored = await dead()
    const [two, three] = [openLedger({ instance: 'server-2', stored }), openLedger({ instance: 'server-3', stored })]
    two.clock.advance(1_000)
    three.clock.advance(1_000)
    await settle()
    expect(stored.seals).toHaveLength(1)
    expect((await two.ledger.verify()).faults).toEqual([])
    const lines = [...two.log.lines, ...three.log.lines]
    expect(lines).toMatchObject([{ message: 'Audit chain sealed', fields: { chain: 'dead' } }])
  })

  test('are sealed as far as their hashes match, and the first mismatch is logged', async () => {
    const stored = await dead()
    stored.rows[1] = { ...(stored.rows[1] as (typeof stored.rows)[0]), tool: 'forged' }
    const { clock, log } = openLedger({ instance: 'server-2', stored })
    clock.advance(1_000)
    await settle()
    expect(stored.seals).toMatchObject([{ fromSeq: 1, toSeq: 1 }])
    expect(log.at('error')).toEqual([{ chain: 'dead', at: 2 }])
  })

  test('are left unchanged if their last seal was forged, which is logged', async () => {
    const stored = await dead()
    const first = openLedger({ instance: 'server-2', stored })
    first.clock.advance(1_000)
    await settle()
    stored.seals[0] = {
      ...(stored.seals[0] as (typeof stored.seals)[0]),
      toSeq: 2,
      lastHash: String(stored.rows[1]?.hash),
    }
    const { clock, log } = openLedger({ instance: 'server-3', stored })
    clock.advance(1_000)
    await settle()
    expect(stored.seals).toHaveLength(1)
    expect(log.at('error')).toEqual([{}, { chain: 'dead', at: 1 }])
  })

  test('are looked at once, and those of the living not at all', async () => {
    const stored = await dead()
    const living = openLedger({ instance: 'living', stored })
    await living.ledger.append([call()], [])
    const { clock, tables, ledger } = openLedger({ instance: 'server-2', stored })
    await ledger.append([call()], [])
    // Its own heartbeat may be late: a chain is not sealed from the table by the one that writes it.
    stored.alive.delete('server-2')
    clock.advance(1_000)
    await settle()
    expect(stored.seals.map(({ chain }) => chain)).toEqual(['dead'])
    const looked = tables.calls.seals
    clock.advance(HOUR + 30_000)
    await settle()
    expect(stored.seals.map(({ chain }) => chain)).toEqual(['dead', 'server-2'])
    expect(tables.calls.seals).toBe(looked)
  })

  test('an instance that was taken for dead continues without a gap between seals', async () => {
    const { ledger, stored, clock } = openLedger({ instance: 'slow' })
    await ledger.append([call(), call()], [])
    stored.alive.delete('slow')
    const other = openLedger({ instance: 'server-2', stored })
    other.clock.advance(1_000)
    await settle()
    await ledger.append([call()], [])
    clock.advance(HOUR)
    await ledger.append([call()], [])
    await ledger.close()
    expect(stored.seals.map(({ fromSeq, toSeq }) => [fromSeq, toSeq])).toEqual([
      [1, 2],
      [3, 3],
      [4, 4],
    ])
    expect((await other.ledger.verify()).faults).toEqual([])
  })
})

describe('expire', () => {
  test('removes sealed stretches that are old, and tells them from missing rows', async () => {
    const { ledger, stored, clock } = openLedger()
    const start = clock.wall()
    await ledger.append([call({ at: start }), call({ at: start })], [run()])
    clock.advance(HOUR)
    await ledger.append([call({ at: start + HOUR })], [])
    clock.advance(HOUR)
    const later = start + HOUR + 7 * DAY
    await ledger.append([call({ at: later })], [])
    // The second stretch ended exactly 7 days ago: it stays.
    expect(await ledger.expire(later)).toMatchObject({ audit: 2, runs: 1 })
    expect(stored.rows.map(({ seq }) => seq)).toEqual([3, 4])
    expect(stored.seals[0]).toMatchObject({ fromSeq: 1, toSeq: 2, expiredAt: later })
    expect(await ledger.verify()).toEqual({ chains: 1, rows: 2, expired: 2, seals: 2, unsealed: 1, faults: [] })
    expect(await ledger.expire(later)).toEqual({ audit: 0, runs: 0, figures: 0 })
  })

  test('happens by itself after the start and every hour', async () => {
    const { ledger, stored, clock, log } = openLedger({ keepDays: 1 })
    await ledger.append([call()], [])
    clock.advance(1_000)
    await settle()
    for (let hour = 0; hour < 26; hour++) {
      clock.advance(HOUR + 30_000)
      await settle()
    }
    expect(stored.rows).toEqual([])
    expect(log.lines).toContainEqual(expect.objectContaining({ level: 'info', message: 'Removed expired records' }))
  })

  test('does not make a forged seal genuine', async () => {
    const { ledger, stored, clock } = openLedger()
    await ledger.append([call({ at: clock.wall() })], [])
    await ledger.close()
    stored.seals[0] = { ...(stored.seals[0] as (typeof stored.seals)[0]), lastAt: 5 }
    expect(await ledger.expire(clock.wall())).toMatchObject({ audit: 0 })
    expect(stored.rows).toHaveLength(1)
    expect((await ledger.verify()).faults).toHaveLength(1)
  })

  test('keeps minutes for two hours, hours and days for a day longer than rows', async () => {
    const { ledger, stored, clock } = openLedger({ keepDays: 2 })
    await ledger.append([call({ at: clock.wall() })], [])
    await ledger.executions({ tenant: 'acme', window: '1h' })
    const widths = () => [...new Set([...stored.cells.values()].map(({ width }) => width))]
    await ledger.expire(clock.wall() + 2 * HOUR)
    expect(widths()).toEqual(['minute', 'hour', 'day'])
    await ledger.expire(clock.wall() + 2 * HOUR + 1)
    expect(widths()).toEqual(['hour', 'day'])
    await ledger.expire(clock.wall() + 3 * DAY)
    expect(widths()).toEqual(['hour', 'day'])
    await ledger.expire(clock.wall() + 3 * DAY + 1)
    expect(widths()).toEqual([])
  })
})
