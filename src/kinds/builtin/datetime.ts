import { DateTime, IANAZone, Settings } from 'luxon'
import type { Handler } from '../../core/handler.ts'
import { suggest } from '../../core/suggest.ts'
import type { Params } from '../../core/tool.ts'
import { badParameter, quoted, readText, requireText } from './read-parameter.ts'

const UNITS = ['years', 'months', 'weeks', 'days', 'hours', 'minutes', 'seconds', 'milliseconds'] as const
const OPERATIONS = 'now, diff, format'
const MAX_CHARACTERS = 100
/** Fixed, so that results don't depend on the machine's locale. */
const LOCALE = 'en-US'

/** Returns the time, and compares and formats dates, in any IANA time zone. */
export function datetimeHandler(now: () => number): Handler {
  return (params) => {
    const operation = requireText(params, 'operation', MAX_CHARACTERS)
    const zone = readZone(params)
    if (operation === 'now') return described(DateTime.fromMillis(now(), { zone, locale: LOCALE }))
    if (operation === 'diff') return diff(params, zone, now)
    if (operation === 'format') return format(params, zone, now)
    throw badParameter(`operation must be one of: ${OPERATIONS}, not ${quoted(operation)}`)
  }
}

function described(time: DateTime) {
  return {
    iso: time.toISO(),
    timezone: time.zoneName,
    utc_offset: time.toFormat('ZZ'),
    date: time.toISODate(),
    time: time.toFormat('HH:mm:ss'),
    weekday: time.weekdayLong,
    unix_ms: time.toMillis(),
  }
}

function diff(params: Params, zone: string, now: () => number) {
  const unit = UNITS.find((known) => known === (readText(params, 'unit', MAX_CHARACTERS) ?? 'days'))
  if (unit === undefined) throw badParameter(`unit must be one of: ${UNITS.join(', ')}, not ${quoted(params.unit)}`)
  const from = readDate(params, 'from', zone, now)
  const to = readDate(params, 'to', zone, now)
  return {
    from: from.toISO(),
    to: to.toISO(),
    unit,
    value: to.diff(from, unit).as(unit),
    milliseconds: to.toMillis() - from.toMillis(),
  }
}

function format(params: Params, zone: string, now: () => number) {
  const date = readDate(params, 'date', zone, now).setLocale(readLocale(params) ?? LOCALE)
  const pattern = readText(params, 'format', MAX_CHARACTERS)
  const inWords = () => (params.locale === undefined ? date.toISO() : date.toLocaleString(DateTime.DATETIME_FULL))
  return {
    formatted: pattern === undefined ? inWords() : date.toFormat(pattern),
    iso: date.toISO(),
    timezone: date.zoneName,
    weekday: date.weekdayLong,
  }
}

/** Accepts only dates with a year: a bare time would mean today on the machine's clock. */
function readDate(params: Params, name: string, zone: string, now: () => number): DateTime {
  const text = requireText(params, name, MAX_CHARACTERS).trim()
  const options = { zone, locale: LOCALE }
  const date = text === 'now' ? DateTime.fromMillis(now(), options) : DateTime.fromISO(text, options)
  if (date.isValid && (text === 'now' || /^([+-]\d{2})?\d{4}/.test(text))) return date
  throw badParameter(`${name} ${quoted(text)} is not an ISO 8601 date such as '2026-03-29' or '2026-03-29T14:30:00Z'`)
}

function readZone(params: Params): string {
  const zone = readText(params, 'timezone', MAX_CHARACTERS) ?? 'UTC'
  if (/^[A-Za-z]/.test(zone) && IANAZone.isValidZone(zone)) return remembered(zone)
  const near = suggest(zone, Intl.supportedValuesOf('timeZone'))[0] ?? 'Europe/Zurich'
  throw badParameter(`timezone ${quoted(zone)} is not an IANA time zone such as '${near}'`)
}

function readLocale(params: Params): string | undefined {
  const locale = readText(params, 'locale', MAX_CHARACTERS)
  if (locale === undefined) return undefined
  const known = /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}$/.test(locale) && supported(locale)
  if (!known) throw badParameter(`locale ${quoted(locale)} is not a language tag such as 'en-GB' or 'de'`)
  return remembered(locale)
}

function supported(locale: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(locale).length > 0
  } catch {
    return false
  }
}

const MAX_SPELLINGS = 500
const spellings = new Set<string>()

/** Luxon caches a formatter for every spelling of a zone or locale: limits that cache. */
function remembered(spelling: string): string {
  spellings.add(spelling)
  if (spellings.size > MAX_SPELLINGS) {
    spellings.clear()
    Settings.resetCaches()
  }
  return spelling
}
