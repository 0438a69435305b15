import { expect, test } from 'vitest'
import { suggest } from './suggest.ts'

const names = ['get_weather', 'calculate', 'echo', 'search_documents', 'datetime']

test.each([
  ['get_wether', ['get_weather']],
  ['GET_WEATHER', ['get_weather']],
  ['weather', ['get_weather']],
  ['calcualte', ['calculate']],
  ['xyz', []],
  ['', []],
  ['x'.repeat(100_000), []],
])('suggests for %s: %j', (wanted, near) => {
  expect(suggest(wanted, names)).toEqual(near)
})

test('returns at most three, closest first', () => {
  expect(suggest('tool_1', ['tool_123', 'tool_12', 'tool_2', 'tool_1x', 'other'])).toEqual([
    'tool_12',
    'tool_1x',
    'tool_2',
  ])
})
