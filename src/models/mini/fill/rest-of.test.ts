import { expect, test } from 'vitest'
import { directedPieces, directionFits } from './direction.ts'
import { restOf } from './rest-of.ts'
import { saysNothing } from './says-nothing.ts'

const words = (said: string, ...of: string[]) =>
  of.map((word) => ({ from: said.indexOf(word), to: said.indexOf(word) + word.length }))

test.each([
  ['reverse hello', ['reverse'], 'hello'],
  ["what's hello backwards", ['backwards'], 'hello'],
  ['write good morning in capital letters please', ['capital', 'letters'], 'good morning'],
  ['make a slug of "Two Cups"', ['slug'], 'Two Cups'],
  ['reverse', ['reverse'], undefined],
])('of "%s" without %j is left: %s', (said, of, rest) => {
  expect(restOf(said, words(said, ...of))).toBe(rest)
})

test('a long row of marks is looked through once, not in every way that it can be divided', () => {
  const said = `reverse ${'!'.repeat(500)}x`
  expect(restOf(said, words(said, 'reverse'))).toBe(`${'!'.repeat(500)}x`)
})

test('with, in and by say whose a piece is', () => {
  const said = 'replace a with o in banana'
  expect(directionFits('replacement', said, said.indexOf('o in'))).toBe(1)
  expect(directionFits('text', said, said.indexOf('banana'))).toBe(1)
  expect(directionFits('search', said, said.indexOf('banana'))).toBe(-1)
  expect(directionFits('city', said, said.indexOf('banana'))).toBe(0)
  const split = 'split "a;b" by ";"'
  expect(directedPieces('separator', split).map(({ from, to }) => split.slice(from, to))).toEqual([';'])
})

test('the name of a parameter or of a tool is no value', () => {
  expect(saysNothing('the lights', 'light', 'set_light')).toBe(true)
  expect(saysNothing('calculate', 'expression', 'calculate')).toBe(true)
  expect(saysNothing('hall light', 'light', 'set_light')).toBe(false)
})
