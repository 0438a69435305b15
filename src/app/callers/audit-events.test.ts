import { describe, expect, test } from 'vitest'
import type { EventEntry } from '../../core/storage/ledger.ts'
import { captureLog, ManualClock } from '../../testing/stand-ins.ts'
import { AuditEvents, MAX_SOURCES } from './audit-events.ts'
import { LOCAL_CALLER } from './callers.ts'

const MINUTE = 60_000

function openEvents() {
  const written: EventEntry[] = []
  const clock = new ManualClock()
  const log = captureLog()
  const events = new AuditEvents({ write: (entry) => void written.push(entry), clock, log })
  const refuse = (address: string, subject?: string) =>
    events.count('key.refused', address, { subject, failed: true, detail: { address } })
  return { events, written, clock, log, refuse, rows: () => written.map(({ count, subject }) => [count, subject]) }
}

const detailOf = (entry: EventEntry | undefined) => JSON.parse(entry?.detail ?? 'null')

describe('repeats', () => {
  test('of one source in a minute become one row, with their number and the time of the last', () => {
    const { written, clock, refuse } = openEvents()
    refuse('192.0.2.1')
    expect(written).toMatchObject([{ event: 'key.refused', tenant: '*', caller: null, failed: true, count: 1 }])
    for (let n = 0; n < 500; n++) {
      clock.advance(100)
      refuse('192.0.2.1')
    }
    expect(written).toHaveLength(1)
    clock.advance(MINUTE)
    expect(written).toHaveLength(2)
    expect(written[1]).toMatchObject({ count: 500, at: Date.UTC(2026, 0, 1) + 100 })
    expect(detailOf(written[1])).toEqual({ address: '192.0.2.1', until: '2026-01-01T00:00:50.000Z' })
    expect(clock.pending).toBe(0)
    refuse('192.0.2.1')
    clock.advance(MINUTE)
    expect(written.map(({ count }) => count)).toEqual([1, 500, 1])
  })

  test('of different sources and tenants are counted apart', () => {
    const { events, clock, refuse, written } = openEvents()
    for (let n = 0; n < 3; n++) {
      refuse('192.0.2.1')
      refuse('192.0.2.2')
      events.count('key.refused', '192.0.2.1', { tenant: 'acme', failed: true })
      events.count('session.started', '192.0.2.1', {})
    }
    clock.advance(MINUTE)
    expect(written.map(({ count }) => count)).toEqual([1, 1, 1, 1, 2, 2, 2, 2])
  })

  test('name the subjects, up to ten of them', () => {
    const { rows, clock, refuse, written } = openEvents()
    for (let n = 0; n < 30; n++) refuse('192.0.2.1', `key-${n}`)
    refuse('192.0.2.2', 'same')
    refuse('192.0.2.2', 'same')
    clock.advance(MINUTE)
    expect(rows()).toEqual([
      [1, 'key-0'],
      [1, 'same'],
      [29, 'key-1'],
      [1, 'same'],
    ])
    expect(detailOf(written[2]).subjects).toHaveLength(10)
    expect(detailOf(written[3]).subjects).toBeUndefined()
  })

  test('from ever new sources write a bounded number of rows a minute, and none is left out of the count', () => {
    const { clock, refuse, written, events } = openEvents()
    for (let n = 0; n < 5_000; n++) {
      refuse(`source ${n}`)
      refuse(`source ${n}`)
    }
    events.count('tenant.crossed', 'key-1', { failed: true })
    expect(written).toHaveLength(MAX_SOURCES + 2)
    clock.advance(MINUTE)
    expect(written.length).toBeLessThanOrEqual(2 * (MAX_SOURCES + 1) + 1)
    const refused = written.filter(({ event }) => event === 'key.refused')
    expect(refused.reduce((sum, { count }) => sum + count, 0)).toBe(10_000)
    expect(detailOf(refused.at(-1))).toMatchObject({ sources: `beyond ${MAX_SOURCES}` })
    expect(written.find(({ event }) => event === 'tenant.crossed')).toMatchObject({ caller: null, count: 1 })
  })

  test('are written when the server ends', () => {
    const { events, clock, refuse, rows } = openEvents()
    refuse('192.0.2.1', 'key')
    refuse('192.0.2.1', 'key')
    events.flush()
    events.flush()
    expect([rows(), clock.pending]).toEqual([
      [
        [1, 'key'],
        [1, 'key'],
      ],
      0,
    ])
  })
})

test('holds no secrets, whatever a caller writes into a name, and is limited in size', () => {
  const { events, written } = openEvents()
  const secret = `ty_${'a'.repeat(43)}`
  events.record('key.created', {
    by: { id: 'local', name: `from ${secret}`, source: 'cli' },
    subject: secret,
    detail: { name: secret, note: 'x'.repeat(100_000), many: Array(1_000).fill('y'.repeat(1_000)) },
  })
  expect(JSON.stringify(written)).not.toContain('aaaaaaaa')
  expect(written[0]).toMatchObject({ caller: 'local', source: 'cli', tenant: '*' })
  expect(written[0]?.detail?.length).toBeLessThan(12_000)
})

test('logs it when nobody can say to whom something belongs', async () => {
  const { events, written, log } = openEvents()
  events.crossed(LOCAL_CALLER, 'run 1', Promise.reject(new Error('no store')))
  events.crossed(LOCAL_CALLER, 'run 2', Promise.resolve(undefined))
  events.crossed(LOCAL_CALLER, 'run 3', 'local')
  events.crossed(LOCAL_CALLER, 'run 4', 'acme')
  await new Promise(setImmediate)
  expect(written).toMatchObject([{ event: 'tenant.crossed', subject: 'acme', caller: 'local' }])
  expect(log.lines).toMatchObject([
    { level: 'error', message: 'Could not record a request for data of another tenant' },
  ])
})
