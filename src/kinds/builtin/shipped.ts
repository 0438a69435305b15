import { extname } from 'node:path'
import { DateTime, IANAZone, Settings } from 'luxon'
import type { Handler, IsolatedHandler } from '../../core/handler.ts'
import { quoted } from '../../core/schema/problem-words.ts'
import { suggest, withoutAccents } from '../../core/suggest.ts'
import type { Effect, Params } from '../../core/tool.ts'
import { ToolHandlers as PlainToolHandlers } from '../tool-handlers.ts'
import { badParameter, readInteger, readText, requireText } from './read-parameter.ts'

/** The handler of `math_eval`: only the process that runs it loads mathjs. */
export const mathEvalHandler: IsolatedHandler = {
  module: new URL(`./math-eval${extname(import.meta.filename)}`, import.meta.url).href,
  export: 'mathEval',
}

/** The shipped handlers and their effects. */
export const SHIPPED_BUILTINS: Readonly<Record<string, Effect>> = {
  math_eval: 'read',
  echo: 'read',
  datetime: 'read',
  string: 'read',
  simulated_light: 'idempotent',
}

/** Registers the shipped builtins, except those that the host application registered itself. */
export function addShippedBuiltins(handlers: PlainToolHandlers): void {
  const shipped: readonly (readonly [string, Handler | IsolatedHandler])[] = [
    ['math_eval', mathEvalHandler],
    ['echo', echo],
    ['datetime', datetimeHandler(Date.now)],
    ['string', string],
    ['simulated_light', simulatedLightHandler()],
  ]
  for (const [name, handler] of shipped) {
    if (handlers.get(name) === undefined)
      handlers.register(name, handler, { effect: SHIPPED_BUILTINS[name] ?? 'write', shared: true })
  }
}

/** The handlers of a program, beside the shipped ones. */
export class ToolHandlers extends PlainToolHandlers {
  constructor() {
    super()
    addShippedBuiltins(this)
  }
}

const LIGHTS = ['porch', 'hall', 'kitchen', 'living room', 'bedroom', 'garden'] as const
const STATES = ['on', 'off']
const MAX_NAME_CHARACTERS = 100
const MAX_HOUSES = 1_000

/** Simulated lights, one house per tenant, to try tools that change something. */
export function simulatedLightHandler(): Handler {
  const houses = new Map<string, ReadonlySet<string>>()
  return (params, { tenant }) => {
    const light = lightOf(requireText(params, 'light', MAX_NAME_CHARACTERS))
    const state = requireText(params, 'state', MAX_NAME_CHARACTERS)
    if (!STATES.includes(state)) throw badParameter(`state must be one of: on, off, not ${quoted(state)}`)
    const before = houses.get(tenant) ?? new Set()
    const now = new Set(LIGHTS.filter((one) => (one === light ? state === 'on' : before.has(one))))
    houses.delete(tenant)
    houses.set(tenant, now)
    const [oldest] = houses.keys()
    if (houses.size > MAX_HOUSES && oldest !== undefined) houses.delete(oldest)
    return `The ${light} light is ${state} now. In this simulated house ${sayLit([...now])}.`
  }
}

/** Normalizes "porch", "the porch light" and "Porch lamp" to one name. */
function lightOf(name: string): string {
  const plain = name.trim().toLowerCase().replaceAll(/\s+/g, ' ')
  const bare = plain.replace(/^(?:the|my|our) /, '').replace(/ (?:light|lamp)s?$/, '')
  const found = LIGHTS.find((one) => one === bare)
  if (found === undefined) throw badParameter(`there is no light ${quoted(name)}; there are: ${LIGHTS.join(', ')}`)
  return found
}

function sayLit(lit: readonly string[]): string {
  if (lit.length === 0) return 'all lights are off'
  return lit.length === 1 ? 'one light is on' : `${lit.length} lights are on: ${lit.join(', ')}`
}

export const echo: Handler = (params) => ({ echo: params })

/** Splitting this much text into characters takes about 20 ms. */
const MAX_TEXT = 100_000
/** Searching takes time in proportion to both lengths: 100,000 × 50,000 took two seconds. */
const MAX_SEARCH = 1_000
const MAX_RESULT = 1_000_000

/** Text operations: `{operation, text, …}` returns `{result}`. Parameters are never read as patterns. */
export const string: Handler = (params) => {
  const operation = requireText(params, 'operation', 100)
  const work = OPERATIONS.get(operation)
  if (work === undefined) {
    throw badParameter(`operation must be one of: ${[...OPERATIONS.keys()].join(', ')}, not ${quoted(operation)}`)
  }
  return { result: work(requireText(params, 'text', MAX_TEXT), params) }
}

const OPERATIONS = new Map<string, (text: string, params: Params) => unknown>([
  ['upper', (text) => text.toUpperCase()],
  ['lower', (text) => text.toLowerCase()],
  ['title', title],
  ['trim', (text) => text.trim()],
  ['length', (text) => characters(text).length],
  ['reverse', (text) => characters(text).reverse().join('')],
  ['contains', (text, params) => text.includes(search(params))],
  ['count', (text, params) => occurrences(text, search(params))],
  ['replace', replace],
  ['split', split],
  ['slice', slice],
  ['slug', slug],
])

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Splits a text into graphemes: an emoji or an accented letter is one. */
const characters = (text: string): string[] => Array.from(segmenter.segment(text), (one) => one.segment)

function title(text: string): string {
  return text.replace(/(\p{L})([\p{L}\p{M}\p{N}'’]*)/gu, (_, first: string, rest: string) => {
    return first.toUpperCase() + rest.toLowerCase()
  })
}

function search(params: Params): string {
  const wanted = requireText(params, 'search', MAX_SEARCH)
  if (wanted === '') throw badParameter('search must not be empty')
  return wanted
}

function occurrences(text: string, wanted: string): number {
  let count = 0
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) count++
  return count
}

function replace(text: string, params: Params): string {
  const wanted = search(params)
  const replacement = requireText(params, 'replacement', MAX_TEXT)
  const length = text.length + occurrences(text, wanted) * (replacement.length - wanted.length)
  if (length > MAX_RESULT) {
    throw badParameter(`the result would have ${length} characters, and at most ${MAX_RESULT} are allowed`)
  }
  return text.replaceAll(wanted, () => replacement)
}

function split(text: string, params: Params): string[] {
  const separator = readText(params, 'separator', MAX_SEARCH)
  if (separator === undefined) return text.split(/\s+/u).filter((word) => word !== '')
  return separator === '' ? characters(text) : text.split(separator)
}

function slice(text: string, params: Params): string {
  return characters(text)
    .slice(readInteger(params, 'start') ?? 0, readInteger(params, 'end'))
    .join('')
}

function slug(text: string): string {
  return withoutAccents(text)
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
}

const UNITS = ['years', 'months', 'weeks', 'days', 'hours', 'minutes', 'seconds', 'milliseconds'] as const
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
    throw badParameter(`operation must be one of: now, diff, format, not ${quoted(operation)}`)
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
