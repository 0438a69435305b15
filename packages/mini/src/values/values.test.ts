import { describe, expect, test } from 'vitest'
import { dateAs, dateFormat, quotesIn } from '../fill/assign-spans.ts'
import { arithmeticIn } from './arithmetic.ts'
import { describedOptions, mentioned } from './described-options.ts'
import { inTimeUnit, timeAfter, timeUnit } from './durations.ts'
import { withState } from './places.ts'
import { timeZoneOf } from './time-zones.ts'

const NOW = new Date(2026, 10, 16, 10)
describe('values made proper', () => {
  test.each([
    ['Format: yyyy-mm-dd.', 'March 11, 2022', '2022-03-11'],
    ['in the format mm-dd-yyyy', 'June 1 2023', '06-01-2023'],
    ['The date (month-day-year)', '2022/08/16', '08-16-2022'],
    ['The day, DD/MM/YYYY', 'tomorrow', '17/11/2026'],
    ['Format: yyyy-mm-dd', 'next Friday', '2026-11-27'],
  ])('a date in the form of "%s": %s is %s', (description, text, expected) => {
    expect(dateAs(text, dateFormat(description) as string, NOW)).toBe(expected)
  })

  test('a description that asks for no form leaves dates as they were said', () => {
    expect(dateFormat('The day of the trip')).toBeUndefined()
    expect(dateFormat('', 'date')).toBe('yyyy-MM-dd')
    expect(dateAs('no date', 'yyyy-MM-dd', NOW)).toBeUndefined()
  })

  test.each([
    ['Calculate 15% tip on $45', '45 * 0.15', '15% tip on $45'],
    ['What is 20% of 80?', '80 * 0.2', '20% of 80'],
    ['what is 12 times 7', '12 * 7', '12 * 7'],
    ['What is the square root of 144?', 'sqrt(144)', 'sqrt(144)'],
    ['compute (3 + 4) * 2', '(3 + 4) * 2', '(3 + 4) * 2'],
    ['what is twelve times seven?', '12 * 7', '12 * 7'],
    ['whats 15 x 15', '15 * 15', '15 * 15'],
    ['what is 5 factorial', '5!', '5!'],
    ['can you add 120 and 345?', '120 + 345', '120 + 345'],
    ['average of 3, 5 and 10', 'mean(3, 5, 10)', 'The average of 3, 5, 10'],
    ['how much is a 20 percent tip on 80 dollars', '80 * 0.2', '20% tip on $80'],
    ['sin(45 deg)', 'sin(45 deg)', 'sin(45 deg)'],
    ['convert 5 miles to km', '5 mi to km', '5 miles'],
  ])('%s is a sum', (said, expression, phrase) => {
    expect(arithmeticIn(said)).toMatchObject({ expression, phrase })
  })

  test.each([
    ['A coat is 120 dollars with 25% off. What does it cost now?', '120 * (1 - 0.25)'],
    ['My salary is 3,200 and it goes up by 4%. What will it be?', '3200 * (1 + 0.04)'],
    ['The hotel was 540, plus 10% tax, split between three. What does each pay?', '540 * (1 + 0.1) / 3'],
    ['We were four friends and paid 98 euros. How much per person?', '98 / 4'],
    ['I work 38 hours at 24 dollars per hour, how much do I earn?', '38 * 24'],
    ['Take 17 from 60 and multiply the result by 3', '(60 - 17) * 3'],
    ['what percentage of 250 is 35?', '35 / 250 * 100'],
    ['sum up 12, 19, 44 and 101 please', 'sum(12, 19, 44, 101)'],
    ['half of 93', '0.5 * 93'],
    ['How fast is 60 mph in km/h?', '60 mi/h to km/h'],
    ['I have three cats and two dogs, what should I name them?', undefined],
    ['remember that 5 people come at 8', undefined],
  ])('%s is written as %s', (said, expression) => {
    expect(arithmeticIn(said)?.expression).toBe(expression)
  })

  test('small sums need no tool, and not everything with a number is a sum', () => {
    expect(arithmeticIn("What's 2+2?")).toMatchObject({ result: 4 })
    for (const said of ['set the volume to 30', '2026-11-16', 'what is love', `1${'+1'.repeat(400)}`]) {
      expect(arithmeticIn(said)).toBeUndefined()
    }
  })

  test('quotes hold apostrophes, and the whole sentence is no quote', () => {
    const said = "with the subject 'Meeting' and body 'Let's meet at 10'"
    expect(quotesIn(said).map(({ from, to }) => said.slice(from, to))).toEqual(['Meeting', "Let's meet at 10"])
    expect(quotesIn("'turn on the lamp'")).toEqual([])
  })

  test('options that a description names are found by their words', () => {
    const options = describedOptions("The unit, 'c' for Celsius, 'f' for Fahrenheit. Default is 'c'.")
    expect(mentioned(options, 'how hot in fahrenheit').map(({ value }) => value)).toEqual(['f'])
    expect(describedOptions("Default is 'cm'.")).toEqual([])
  })

  test('durations in the unit that is asked for', () => {
    expect(timeUnit('days_ahead', '')).toBe('day')
    expect(timeUnit('timeframe', 'The number of days from now')).toBe('day')
    expect(timeAfter('two hours', 3)).toBe('hour')
    expect(inTimeUnit(2, '2 hours', 1, 'minute')).toBe(120)
    expect(inTimeUnit(36, '36 months', 2, 'year')).toBe(3)
  })

  test('places: a state where both are wanted, and the time zone of a city', () => {
    expect(withState('New York', 'The city and state, e.g. San Francisco, CA')).toBe('New York, NY')
    expect(withState('New York', 'The city')).toBe('New York')
    expect(withState('Paris', 'The city and state')).toBe('Paris')
    expect(timeZoneOf('new york')).toBe('America/New_York')
    expect(timeZoneOf('Nowhere')).toBeUndefined()
  })
})
