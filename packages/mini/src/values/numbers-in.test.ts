import { describe, expect, test } from 'vitest'
import { numbersIn } from './numbers-in.ts'

const values = (text: string): number[] => numbersIn(text).map(({ value }) => value)

describe('numbers in a text', () => {
  test.each<[string, number[]]>([
    ['30 and -4.5, then .5', [30, -4.5, 0.5]],
    ['12,000 miles for $1,234.50', [12_000, 1_234.5]],
    ['2.3 million people, 500k views, 10M', [2_300_000, 500_000, 10_000_000]],
    ['1e-9 C and 5 x 10^6', [1e-9, 5e6]],
    ['twenty-five of one hundred and twelve', [25, 112]],
    ['two thousand and six', [2006]],
    ['a dozen eggs', [12]],
    ['300K and 298 K', [300, 298]],
    ['glucose is C6H12O6 at 9.8 m/s^2', [9.8]],
    ['from 5-10', [5, 10]],
    ['nothing at all', []],
  ])('%s', (text, expected) => {
    expect(values(text)).toEqual(expected)
  })

  test('a percentage is marked, and keeps the value that was said', () => {
    expect(numbersIn('15% or fifty percent of 8')).toMatchObject([
      { value: 15, percent: true },
      { value: 50, percent: true },
      { value: 8, percent: false },
    ])
  })

  test('each stands where it was found', () => {
    const said = 'pay $1,200 now'
    expect(numbersIn(said).map(({ from, to }) => said.slice(from, to))).toEqual(['1,200'])
  })
})
