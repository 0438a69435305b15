import { DateTime } from 'luxon'
import { describe, expect, test } from 'vitest'
import type { HandlerContext } from '../../core/handler.ts'
import { silentLog } from '../../core/log.ts'
import type { Params } from '../../core/tool.ts'
import { datetimeHandler } from './shipped.ts'

const NOW = Date.UTC(2026, 2, 29, 0, 30)
const context: HandlerContext = {
  signal: new AbortController().signal,
  tenant: 'local',
  flags: {},
  report: () => {},
  log: silentLog,
}
const datetime = datetimeHandler(() => NOW)
const call = (params: Params) => datetime(params, context)

describe('now', () => {
  test('is in UTC unless a zone is asked for', () => {
    expect(call({ operation: 'now' })).toEqual({
      iso: '2026-03-29T00:30:00.000Z',
      timezone: 'UTC',
      utc_offset: '+00:00',
      date: '2026-03-29',
      time: '00:30:00',
      weekday: 'Sunday',
      unix_ms: NOW,
    })
  })

  test('knows that a zone may be in another day', () => {
    expect(call({ operation: 'now', timezone: 'America/New_York' })).toMatchObject({
      iso: '2026-03-28T20:30:00.000-04:00',
      utc_offset: '-04:00',
      weekday: 'Saturday',
    })
  })

  test('follows the clock', () => {
    let time = 0
    const ticking = datetimeHandler(() => time)
    time = 5_000
    expect(ticking({ operation: 'now' }, context)).toMatchObject({ unix_ms: 5_000 })
  })
})

describe('diff', () => {
  test('counts days, with parts, unless another unit is asked for', () => {
    expect(call({ operation: 'diff', from: '2026-01-01', to: '2026-01-02T12:00:00Z' })).toEqual({
      from: '2026-01-01T00:00:00.000Z',
      to: '2026-01-02T12:00:00.000Z',
      unit: 'days',
      value: 1.5,
      milliseconds: 129_600_000,
    })
  })

  test('is negative if the end is before the start', () => {
    expect(call({ operation: 'diff', from: '2026-01-02', to: '2026-01-01', unit: 'hours' })).toMatchObject({
      value: -24,
    })
  })

  test('knows that the day the clocks change has 23 hours', () => {
    const day = { operation: 'diff', from: '2026-03-29', to: '2026-03-30', timezone: 'Europe/Berlin' }
    expect(call({ ...day, unit: 'hours' })).toMatchObject({ value: 23 })
    expect(call({ ...day, unit: 'days' })).toMatchObject({ value: 1 })
  })

  test('counts calendar months, leap days included', () => {
    const month = { operation: 'diff', from: '2024-02-01', to: '2024-03-01' }
    expect(call({ ...month, unit: 'months' })).toMatchObject({ value: 1 })
    expect(call({ ...month, unit: 'days' })).toMatchObject({ value: 29 })
  })

  test('takes now for either end', () => {
    expect(call({ operation: 'diff', from: 'now', to: '2026-03-29T01:00:00Z', unit: 'minutes' })).toMatchObject({
      value: 30,
    })
  })
})

describe('format', () => {
  test('gives ISO 8601 in the zone asked for', () => {
    expect(call({ operation: 'format', date: '2026-07-01T12:00:00Z', timezone: 'Asia/Kolkata' })).toEqual({
      formatted: '2026-07-01T17:30:00.000+05:30',
      iso: '2026-07-01T17:30:00.000+05:30',
      timezone: 'Asia/Kolkata',
      weekday: 'Wednesday',
    })
  })

  test('takes a pattern and a locale', () => {
    const date = { operation: 'format', date: '2026-07-01' }
    expect(call({ ...date, format: "cccc, d LLLL yyyy 'at' HH:mm" })).toMatchObject({
      formatted: 'Wednesday, 1 July 2026 at 00:00',
    })
    expect(call({ ...date, format: 'cccc', locale: 'de' })).toMatchObject({
      formatted: 'Mittwoch',
      weekday: 'Mittwoch',
    })
    expect(call({ ...date, locale: 'en-GB' })).toMatchObject({ formatted: expect.stringMatching(/^1 July 2026/) })
  })

  test('reads a date without an offset in the zone asked for', () => {
    expect(call({ operation: 'format', date: '2026-07-01T09:00', timezone: 'Europe/Paris' })).toMatchObject({
      iso: '2026-07-01T09:00:00.000+02:00',
    })
  })
})

describe('quotes invalid values in errors', () => {
  const bad: [string, Params, string][] = [
    ['operation', { operation: 'tomorrow' }, 'operation must be one of: now, diff, format, not "tomorrow"'],
    ['missing operation', {}, "missing 'operation'"],
    [
      'zone',
      { operation: 'now', timezone: 'Europe/Berln' },
      `timezone "Europe/Berln" is not an IANA time zone such as 'Europe/Berlin'`,
    ],
    ['offset as zone', { operation: 'now', timezone: '+03:00' }, 'timezone "+03:00" is not an IANA time zone'],
    ["the machine's zone", { operation: 'now', timezone: 'local' }, 'timezone "local" is not'],
    ['zone of another type', { operation: 'now', timezone: 3 }, 'timezone must be a string'],
    ['date', { operation: 'format', date: '30 February' }, 'date "30 February" is not an ISO 8601 date'],
    [
      'day that does not exist',
      { operation: 'format', date: '2026-02-30' },
      'date "2026-02-30" is not an ISO 8601 date',
    ],
    ['time without a date', { operation: 'format', date: '12:30' }, 'date "12:30" is not an ISO 8601 date'],
    ['missing date', { operation: 'diff', from: '2026-01-01' }, "missing 'to'"],
    ['unit', { operation: 'diff', from: 'now', to: 'now', unit: 'fortnights' }, 'not "fortnights"'],
    ['locale', { operation: 'format', date: 'now', locale: 'klingon' }, 'locale "klingon" is not a language tag'],
    ['malformed locale', { operation: 'format', date: 'now', locale: '../x' }, 'locale "../x" is not a language tag'],
    ['endless date', { operation: 'format', date: '2'.repeat(101) }, 'date must not be longer than 100 characters'],
  ]
  test.each(bad)('%s', (_, params, message) => {
    expect(() => call(params)).toThrow(message)
    expect(() => call(params)).toThrow(expect.objectContaining({ code: 'INVALID_PARAMETERS' }))
  })
})

test('results do not depend on the settings of the process', () => {
  const before = process.env.TZ
  process.env.TZ = 'Asia/Tokyo'
  try {
    expect(call({ operation: 'format', date: '2026-07-01', format: 'cccc HH:mm ZZ' })).toMatchObject({
      formatted: 'Wednesday 00:00 +00:00',
    })
  } finally {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  }
})

test('is correct after more spellings of zones than are cached', () => {
  const name = 'europe/zurich'
  for (let mask = 0; mask < 600; mask++) {
    const spelling = [...name].map((letter, bit) => (mask & (1 << bit) ? letter.toUpperCase() : letter)).join('')
    call({ operation: 'now', timezone: spelling })
  }
  expect(call({ operation: 'now', timezone: 'Europe/Zurich' })).toMatchObject({
    iso: DateTime.fromMillis(NOW, { zone: 'Europe/Zurich' }).toISO(),
  })
})
