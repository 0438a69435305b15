import { describe, expect, test } from 'vitest'
import { FuzzyIndex } from './fuzzy.ts'

const find = (query: string, ...texts: string[]) => new FuzzyIndex(texts, String).find(query)

describe('fuzzy search', () => {
  test.each([
    ['wether', 'get_weather'],
    ['waether', 'get_weather'],
    ['calclate', 'calculate'],
    ['gw', 'get_weather'],
    ['seach doc', 'search_documents'],
    ['sear', 'search_documents'],
  ])('%s finds %s', (query, text) => expect(find(query, text)).toEqual([text]))

  test.each([
    ['cat', 'get_weather'],
    ['weather paris', 'get_weather'],
    ['xyz', 'calculate'],
  ])('%s does not find %s', (query, text) => expect(find(query, text)).toEqual([]))

  test('puts whole words first, then beginnings, then misspelled ones', () => {
    const names = ['weathr', 'weathering', 'weather']
    expect(find('weather', ...names)).toEqual(['weather', 'weathering', 'weathr'])
    expect(find(' ', ...names)).toEqual(names)
  })

  test('reads only the beginning of long texts', () => {
    expect(find('end', `${'x'.repeat(1_000)} end`)).toEqual([])
    expect(find('a '.repeat(100_000), 'a')).toEqual(['a'])
  })
})
