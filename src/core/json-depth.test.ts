import { expect, it, onTestFinished, vi } from 'vitest'
import { DeepJsonError, isDeep, parseJson } from './json-depth.ts'

it.each([
  ['[[1]]', false],
  ['[[[1]]]', true],
  ['{"a":{"b":[]}}', true],
  ['[[],[],[],[]]', false],
  ['"[[[[["', false],
  ['["\\"[[[[", [1]]', false],
  ['["\\\\", [[1]]]', true],
  ['', false],
])('%s is deeper than two: %s', (text, deep) => {
  expect(isDeep(text, 2)).toBe(deep)
})

it('finds brackets of both kinds behind long text', () => {
  const long = `{"text":"${'[{'.repeat(1_000)}","more":[[1]]}`
  expect([isDeep(long, 2), isDeep(long, 3)]).toEqual([true, false])
})

it('parses text up to the limit, and refuses deeper text without parsing it', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  expect(JSON.stringify(parseJson(nested(72), 72))).toBe(nested(72))
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => parse.mockRestore())
  expect(() => parseJson(nested(73), 72)).toThrow(new DeepJsonError(72))
  expect(() => parseJson('['.repeat(1_000_000), 72)).toThrow('nested deeper than 72 levels')
  expect(parse).not.toHaveBeenCalled()
})
