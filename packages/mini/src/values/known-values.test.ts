import { describe, expect, test } from 'vitest'
import { dateFormat, datesIn } from '../fill/assign-spans.ts'
import { saidOptions } from '../fill/fill-parameters.ts'
import { type CodeKind, codesIn, codeWanted } from './codes.ts'
import { inUnit, sameMeasure, unitAfter, unitWanted } from './measures.ts'
import { patternsIn, patternWanted } from './patterns.ts'
import { withState } from './places.ts'

const NOW = new Date(2026, 10, 16, 10)
const values = (found: readonly { readonly value: string }[]): string[] => found.map(({ value }) => value)
describe('values that are known by what they are', () => {
  test.each<[CodeKind, string, string[]]>([
    ['currency', 'how much is 250 euros in japanese yen?', ['EUR', 'JPY']],
    ['currency', 'convert $1,200 to british pounds', ['USD', 'GBP']],
    ['currency', 'change 99.5 CHF into usd', ['CHF', 'USD']],
    ['currency', 'put all of it on top of the cup', []],
    ['country', 'Germany, brazil and the Netherlands', ['DE', 'BR', 'NL']],
    ['country', 'news from france, tell us', ['FR']],
    ['language', 'from German to Spanish', ['de', 'es']],
    ['state', 'Chicago, Illinois', ['IL']],
  ])('codes for a %s: %s', (kind, said, expected) => {
    expect(values(codesIn(kind, said))).toEqual(expected)
  })

  test('a code is wanted where the description says so, and written as it shows', () => {
    expect(codeWanted('from_currency', "Currency code (ISO 4217), like 'USD'.")?.kind).toBe('currency')
    expect(codeWanted('lang', 'Language (two letters).')?.write('es')).toBe('es')
    expect(codeWanted('language', "A code like 'en-US'.")?.write('de')).toBe('de-DE')
    expect(codeWanted('country', "ISO 3166 alpha-2 in lower case, e.g. 'us'.")?.write('FR')).toBe('fr')
    expect(codeWanted('language', 'The language of the film')).toBeUndefined()
    expect(codeWanted('country', 'The country, alpha-3 code')).toBeUndefined()
  })

  test('units are read from names and descriptions, and converted only to their like', () => {
    expect(unitWanted('max_length_km', 'Longest length.')).toBe('km')
    expect(unitWanted('temperature', 'Wanted temperature in degrees Celsius.')).toBe('degC')
    expect(unitWanted('weight', 'The weight in kg or in pounds')).toBeUndefined()
    expect(unitWanted('m', '')).toBeUndefined()
    expect(unitAfter('75 degrees fahrenheit', 2)).toBe('degF')
    expect(unitAfter('5 minutes', 1)).toBeUndefined()
    expect(inUnit(10, 'mi', 'km')).toBe(16.0934)
    expect(inUnit(75, 'degF', 'degC')).toBe(23.8889)
    expect(inUnit(60, 'mi/h', 'km/h')).toBe(96.5606)
    expect(inUnit(2, 'kg', 'km')).toBeUndefined()
    expect(sameMeasure('lb', 'kg')).toBe(true)
  })

  test('finds email addresses and codes of airports by how they are written', () => {
    const said = 'Mail anna.k@example.com, then LAX to ORD.'
    expect(values(patternsIn('email', said))).toEqual(['anna.k@example.com'])
    expect(values(patternsIn('airport', said))).toEqual(['LAX', 'ORD'])
    expect(patternWanted('customer_email', '')).toBe('email')
    expect(patternWanted('email_body', '')).toBeUndefined()
    expect(patternWanted('origin', "IATA code, e.g. 'SFO'")).toBe('airport')
    expect(patternWanted('city', 'The city')).toBeUndefined()
  })

  test('a day and a time are read from one piece, each in its form', () => {
    expect(dateFormat('Begin, HH:MM (24-hour).')).toBe('HH:mm')
    expect(values(datesIn('a table tomorrow 8pm', 'yyyy-MM-dd', NOW))).toEqual(['2026-11-17'])
    expect(values(datesIn('a table tomorrow 8pm', 'HH:mm', NOW))).toEqual(['20:00'])
    expect(values(datesIn('on December 4 2026 at 10:30', 'yyyy-MM-dd HH:mm', NOW))).toEqual(['2026-12-04 10:30'])
    expect(values(datesIn('tomorrow', 'HH:mm', NOW))).toEqual([])
  })

  test('a state is written as the description shows it', () => {
    expect(withState('Phoenix, Arizona', "in the format 'City, ST', e.g. 'Houston, TX'")).toBe('Phoenix, AZ')
    expect(withState('san diego', "The place, 'City, State', for example 'Denver, CO'.")).toBe('San Diego, CA')
    expect(withState('Lisbon, Portugal', "'City, State', for example 'Denver, CO'.")).toBe('Lisbon, Portugal')
  })

  test.each([
    [['warm_white', 'cool_white'], 'kitchen light to warm white', ['warm_white']],
    [['on', 'off'], 'coffee machine on, porch light off', ['on', 'off']],
    [['Mon', 'Tue', 'Wed'], 'every wednesday and monday', ['Wed', 'Mon']],
    [['celsius', 'fahrenheit'], "What's the weather in Paris?", []],
    [['ups', 'dhl'], 'it has not shown up', []],
  ])('of %j "%s" names %j', (options, said, expected) => {
    expect(saidOptions(options, said).map(({ value }) => value)).toEqual(expected)
  })
})
