import { expect, test } from 'vitest'
import { nextLink } from './pages.ts'

test.each([
  ['<https://api.test/x?page=2>; rel="next"', 'https://api.test/x?page=2'],
  ['</x?page=2>; rel=next', '/x?page=2'],
  ['</a>; rel="prev", </b>; rel="next", </c>; rel="last"', '/b'],
  ['</a>; rel="prev",</b>;rel="last Next first"', '/b'],
  ['</b>; title="a, b; \\"c\\" <d>; rel=next"; rel="last", </n>; rel="next"', '/n'],
  ['</a,b;c=d>; rel="next"', '/a,b;c=d'],
  ['</b> ; REL = "next" ; title=x', '/b'],
  ['</b>; rel="next"; rel="last"', '/b'],
  ['</b>; rel="last"; rel="next"', undefined],
  ['</b>; rel="next"; anchor="#other"', undefined],
  ['</b>; rel="nextpage"', undefined],
  ['</b>; rev="next"', undefined],
  ['</b>', undefined],
  ['next', undefined],
  ['</b; rel="next"', undefined],
  ['', undefined],
  [undefined, undefined],
])('%s leads to %s', (header, expected) => {
  expect(nextLink(header)).toBe(expected)
})

test.each([
  ['<'.repeat(16_000)],
  [`<a>${'; x="'.repeat(3_000)}`],
  [`<a>${';a=b'.repeat(4_000)}!`],
  [`<a>${' ;'.repeat(8_000)}`],
  [`<a>; x="${'\\'.repeat(16_000)}`],
  [`<a>${' '.repeat(16_000)}`],
  ['<a> '.repeat(4_000)],
])('a header that was made to be slow ends all the same', (header) => {
  expect(nextLink(header)).toBeUndefined()
})
