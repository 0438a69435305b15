import { expect, test } from 'vitest'
import { matchesGlobs } from './glob.ts'

test.each([
  ['get_weather', 'get_weather', true],
  ['get_weather', 'get_weather2', false],
  ['*', '', true],
  ['*', 'anything', true],
  ['get_*', 'get_', true],
  ['get_*', 'forget_it', false],
  ['*_file', 'read_file', true],
  ['*_file', 'read_files', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['a*b*c', 'a-b-b-c', true],
  ['a*bc*c', 'a-bc', false],
  ['ab*bc', 'abc', false],
  ['openai:gpt-4o*', 'openai:gpt-4o-mini', true],
  ['openai:*', 'openai2:gpt-4o', false],
  ['g.t', 'get', false],
  ['', '', true],
  ['', 'a', false],
])('the pattern %j and the name %j: %j', (pattern, name, matches) => {
  expect(matchesGlobs([pattern], name)).toBe(matches)
})

test('one of several patterns is enough, and no pattern matches nothing', () => {
  expect(matchesGlobs(['a', 'b*'], 'bc')).toBe(true)
  expect(matchesGlobs([], '')).toBe(false)
})
