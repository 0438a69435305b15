import { expect, test } from 'vitest'
import { suggest, withoutAccents } from './suggest.ts'

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

test.each([
  ['Crème Brûlée', 'Creme Brulee'],
  ['ﬁn', 'fin'],
  ['हिन्दी', 'हिन्दी'],
])('removes the accents of %s', (text, bare) => {
  expect(withoutAccents(text)).toBe(bare)
})

test.each(['\u05b0', '\uff9e'])('keeps at most 30 marks in a row, because sorting them is slow: %j', (mark) => {
  const kept = mark.repeat(30).normalize('NFKD')
  expect(withoutAccents(`א${mark.repeat(100)}ב${mark.repeat(100)}`)).toBe(`א${kept}ב${kept}`)
})
