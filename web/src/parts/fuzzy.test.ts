import { describe, expect, test } from 'vitest'
import { fuzzyFilter, fuzzyScore } from './fuzzy.ts'

describe('fuzzy search', () => {
  test.each([
    ['wether', 'get_weather'],
    ['waether', 'get_weather'],
    ['calclate', 'calculate'],
    ['gw', 'get_weather'],
    ['seach doc', 'search_documents'],
    ['sear', 'search_documents'],
  ])('%s finds %s', (query, text) => expect(fuzzyScore(query, text)).toBeDefined())

  test.each([
    ['cat', 'get_weather'],
    ['weather paris', 'get_weather'],
    ['xyz', 'calculate'],
  ])('%s does not find %s', (query, text) => expect(fuzzyScore(query, text)).toBeUndefined())

  test('puts whole words first, then beginnings, then misspelled ones', () => {
    const names = ['weathr', 'weathering', 'weather']
    expect(fuzzyFilter(names, 'weather', String)).toEqual(['weather', 'weathering', 'weathr'])
    expect(fuzzyFilter(names, ' ', String)).toEqual(names)
  })

  test('reads only the beginning of long texts', () => {
    expect(fuzzyScore('end', `${'x'.repeat(1_000)} end`)).toBeUndefined()
    expect(fuzzyScore('a '.repeat(100_000), 'a')).toBe(0)
  })
})
