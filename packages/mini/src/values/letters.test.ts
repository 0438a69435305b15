import { describe, expect, test } from 'vitest'
import { dateFormat, datesIn } from '../fill/assign-spans.ts'
import { conversionIn } from './arithmetic.ts'
import { listedValues, placesOf } from './described-options.ts'
import { withState } from './places.ts'
import { timeZonesIn, wantsTimeZone } from './time-zones.ts'

const NOW = new Date(2026, 10, 16, 10)
const values = (found: readonly { readonly value: string }[]): string[] => found.map(({ value }) => value)

describe('values of everyday sentences', () => {
  test.each([
    ['what time is it in Tokyo?', ['Asia/Tokyo']],
    ['time in london', ['Europe/London']],
    ['London and New York', ['Europe/London', 'America/New_York']],
    ['in Boston, or in Munich', ['America/New_York', 'Europe/Berlin']],
    ['in Japan', ['Asia/Tokyo']],
    ['in the US', []],
    ['Europe/Paris please', ['Europe/Paris']],
    ['how many days until Christmas', []],
  ])('time zones of places: %s', (said, expected) => {
    expect(values(timeZonesIn(said))).toEqual(expected)
  })

  test('a zone is wanted where the description shows one', () => {
    expect(wantsTimeZone('timezone', 'An IANA time zone')).toBe(true)
    expect(wantsTimeZone('timezone', 'such as EST')).toBe(false)
  })

  test.each([
    ['5 miles to km', '5 mi to km'],
    ['convert 100 fahrenheit to celsius', '100 degF to degC'],
    ['how many cm is 5 inches', '5 inch to cm'],
    ['how many seconds are there in a day', '1 day to second'],
    ['100 usd to eur', undefined],
    ['10 kg in km', undefined],
    ['how many days until Friday', undefined],
  ])('a measure in another unit: %s', (asked, expression) => {
    expect(conversionIn(asked)?.expression).toBe(expression)
  })

  test('a range is two dates, and days with a name are dates', () => {
    expect(values(datesIn('from March 3 2026 to May 5 2026', 'yyyy-MM-dd', NOW))).toEqual(['2026-03-03', '2026-05-05'])
    expect(values(datesIn('since 1 March this year', 'yyyy-MM-dd', NOW))).toEqual(['2026-03-01'])
    expect(values(datesIn('since 2 June', 'yyyy-MM-dd', NOW))).toEqual(['2026-06-02'])
    expect(values(datesIn('good night', 'yyyy-MM-dd', NOW))).toEqual([])
    const iso = dateFormat('The end, as ISO 8601.') as string
    expect(values(datesIn('until 6 pm today', iso, NOW))).toEqual(['2026-11-16T18:00:00'])
    expect(values(datesIn('until 24 December', iso, NOW))).toEqual(['2026-12-24'])
    expect(values(datesIn('until Christmas', 'yyyy-MM-dd', NOW))).toEqual(['2026-12-25'])
    expect(values(datesIn('on new year', 'yyyy-MM-dd', NOW))).toEqual(['2027-01-01'])
  })

  test('what a description says is all there is, is a list', () => {
    const description = 'One of "hall", "kitchen" or "living room".'
    expect(listedValues(description)).toEqual(['hall', 'kitchen', 'living room'])
    expect(listedValues('such as "hall" or "kitchen"')).toEqual([])
    expect(values(placesOf(listedValues(description), 'living room and hall light'))).toEqual(['living room', 'hall'])
  })

  test('a state is added only where a description wants one', () => {
    expect(withState('Seattle', 'The place, as a city: "Paris", "Portland, Oregon".')).toBe('Seattle')
    expect(withState('Seattle', 'e.g. San Francisco, CA')).toBe('Seattle, WA')
  })
})
