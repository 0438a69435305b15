import { expect, test } from 'vitest'
import { captureLog } from '../../testing/stand-ins.ts'
import { chainRow, GENESIS } from './chain-row.ts'
import { call, openLedger, settle } from './fixtures/open-ledger.ts'
import { LiveFigures } from './live-figures.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

test('figures are written with appends: minutes at most once a second, hours every ten, days every 60', async () => {
  const { ledger, clock, tables } = openLedger()
  const written: string[][] = []
  const write = tables.write.bind(tables)
  tables.write = (batch) => {
    written.push([...new Set(batch.cells.map(({ kind, width }) => `${kind} ${width}`))])
    return write(batch)
  }
  for (let n = 0; n < 24; n++) {
    await ledger.append([call({ at: clock.wall() })], [])
    clock.advance(500)
    await settle()
  }
  expect(written.filter((cells) => cells.includes('call minute')).length).toBeLessThanOrEqual(12)
  expect(written.filter((cells) => cells.includes('call minute')).length).toBeGreaterThanOrEqual(10)
  expect(written.filter((cells) => cells.includes('call hour'))).toHaveLength(1)
  expect(written.filter((cells) => cells.includes('call day'))).toHaveLength(0)
})

test('figures are written by the clock without further appends, once', async () => {
  const { ledger, clock, stored, tables } = openLedger()
  await ledger.append([call({ at: clock.wall() })], [])
  for (let minute = 0; minute < 6; minute++) {
    clock.advance(MINUTE)
    await settle()
  }
  expect(new Set([...stored.cells.values()].map(({ kind, width }) => `${kind} ${width}`))).toEqual(
    new Set(['call minute', 'run minute', 'call hour', 'run hour', 'call day', 'run day', 'set day']),
  )
  const writes = tables.calls.write
  clock.advance(10_000)
  await settle()
  expect(tables.calls.write).toBe(writes)
})

test('figures that could not be written are written later, and the failure is logged once', async () => {
  const { ledger, stored, clock, tables, log } = openLedger()
  await ledger.append([call({ at: clock.wall() })], [])
  tables.before = (method) => {
    if (method === 'write') throw new Error('no')
  }
  for (let second = 0; second < 5; second++) {
    clock.advance(1_000)
    await settle()
  }
  expect(stored.cells.size).toBe(0)
  expect(log.at('warn')).toHaveLength(1)
  tables.before = () => {}
  clock.advance(1_000)
  await settle()
  expect((await ledger.executions({ tenant: 'acme', window: '1h' })).total).toBe(1)
})

test('a call that comes when its minute has been forgotten is still counted', async () => {
  const { ledger, clock, stored } = openLedger()
  const at = clock.wall()
  await ledger.append([call({ at })], [])
  for (let minute = 0; minute < 4; minute++) {
    clock.advance(MINUTE)
    await settle()
    await ledger.append([call({ at: clock.wall(), tenant: 'other' })], [])
  }
  const cellsOf = (start: number) =>
    [...stored.cells.values()].filter(
      (cell) => cell.width === 'minute' && cell.kind === 'call' && cell.tenant === 'acme' && cell.start === start,
    )
  await ledger.append([call({ at })], [])
  expect((await ledger.executions({ tenant: 'acme', window: '1h' })).total).toBe(2)
  expect(cellsOf(at)).toHaveLength(2)
  // One that comes soon after the end of its minute finds it still there.
  clock.advance(MINUTE / 2)
  await ledger.append([call({ at })], [])
  expect((await ledger.executions({ tenant: 'acme', window: '1h' })).total).toBe(3)
  expect(cellsOf(at)).toHaveLength(2)
})

test('figures of an hour are written soon after its end, and calls that are too old or in the future make no cells', async () => {
  const { ledger, clock, stored } = openLedger()
  clock.advance(HOUR - 2_000)
  const now = clock.wall()
  await ledger.append([call({ at: now }), call({ at: now + HOUR }), call({ at: now - 9 * 24 * HOUR })], [])
  for (let second = 0; second < 3; second++) {
    clock.advance(1_000)
    await settle()
  }
  const hours = [...stored.cells.values()].filter(({ width, kind }) => width === 'hour' && kind === 'call')
  expect(new Set(hours.map(({ start }) => start))).toEqual(new Set([Date.UTC(2026, 0, 1)]))
  await ledger.close()
  expect(new Set([...stored.cells.values()].map(({ start }) => start))).toEqual(
    new Set([Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1, 0, 59)]),
  )
})

test('a cell that cannot be read is left out and reported', async () => {
  const { ledger, clock, stored, log } = openLedger()
  await ledger.append([call({ at: clock.wall() })], [])
  await ledger.executions({ tenant: 'acme', window: '1h' })
  const cells = [...stored.cells].filter(([, { kind }]) => kind === 'call')
  for (const [name, cell] of cells) stored.cells.set(name, { ...cell, data: cell.data.subarray(0, 9) })
  expect((await ledger.executions({ tenant: 'acme', window: '1h' })).total).toBe(0)
  for (const [name, cell] of cells) stored.cells.set(name, { ...cell, data: Buffer.from('[99,[]]') })
  expect((await ledger.executions({ tenant: 'acme', window: '1h' })).total).toBe(0)
  expect(log.at('warn')).toMatchObject([
    { err: { name: 'SyntaxError' } },
    { err: { message: 'The metrics have version 99, but this version of Toolyard reads 2' } },
  ])
})

test('memory is bounded: past periods are forgotten, and too many names are counted together', () => {
  const log = captureLog()
  const live = new LiveFigures({ log, keepMs: { minute: 2 * HOUR, hour: 24 * HOUR, day: 24 * HOUR }, maxSeries: 100 })
  const now = Date.UTC(2026, 0, 1)
  const place = { chain: 'chain', seq: 1, before: GENESIS }
  const record = (tool: string, at: number) =>
    live.calls([chainRow(call({ tool, at, model: 'model' }), place, () => '00')], at)
  for (let n = 0; n < 1_000; n++) record(`tool-${n}`, now)
  const names = (cells: readonly { readonly data: Uint8Array }[]) =>
    new Set(
      cells.flatMap(
        ({ data }) =>
          Buffer.from(data)
            .toString('latin1')
            .match(/tool-\d+|\(other\)/g) ?? [],
      ),
    )
  const full = live.due(now, 'all')
  expect(names(full.cells).size).toBeLessThan(20)
  expect(names(full.cells)).toContain('(other)')
  expect(log.at('warn')).toEqual([{ first: expect.stringMatching(/^tool-/) }])
  full.written()
  const tomorrow = now + 25 * HOUR
  live.due(tomorrow, 'all').written()
  record('tool-2000', tomorrow)
  expect(names(live.due(tomorrow, 'all').cells)).toEqual(new Set(['tool-2000']))
})
