import { describe, expect, test } from 'vitest'
import type { JsonSchema } from '../../core/tool.ts'
import { readInteger, readParams, typedValue } from './params.ts'

async function* input(...pieces: (string | Buffer)[]) {
  yield* pieces
}
const schema = { type: 'object', properties: { n: { type: 'number' } } }

test('no words are an empty object, and stdin is not read', async () => {
  expect(await readParams([], schema, input('{"n":1}'))).toEqual({})
})

test('reads an object with = and line breaks', async () => {
  expect(await readParams([' {"a=b": "c=d",\n "n": 1} '], schema, input())).toEqual({ 'a=b': 'c=d', n: 1 })
})

test('takes everything after the first = as the value of a pair', async () => {
  const words = ['query=a = b', 'n=-1.5e3', 'empty=', 'lines=a\nb']
  expect(await readParams(words, schema, input())).toEqual({ query: 'a = b', n: -1500, empty: '', lines: 'a\nb' })
})

test('joins characters that stdin delivers in pieces', async () => {
  const bytes = Buffer.from('{"text":"é👍"}')
  const pieces = Array.from(bytes, (byte) => Buffer.from([byte]))
  expect(await readParams(['-'], schema, input(...pieces))).toEqual({ text: 'é👍' })
})

test('stops reading an endless stdin', async () => {
  async function* endless() {
    for (;;) yield Buffer.alloc(65_536, 'x')
  }
  await expect(readParams(['-'], schema, endless())).rejects.toThrow('stdin has more than 2097152 bytes')
})

test('quotes an invalid word and names the valid forms', async () => {
  await expect(readParams(['a=1', '\u001b[2J'], schema, input())).rejects.toThrow(
    '"\\u001b[2J" is not a key=value pair. Give one JSON object, - to read it from stdin, or key=value pairs.',
  )
})

test.each(['0', '11', '1.5', '-1', '', 'x'])('rejects %j as a whole number from 1 to 10', (text) => {
  expect(() => readInteger('--limit', text, 1, 10)).toThrow(`--limit takes a whole number from 1 to 10, not '${text}'.`)
})

test('reads a whole number in its range', () => {
  expect([readInteger('--port', '0', 0, 65_535), readInteger('--port', '65535', 0, 65_535)]).toEqual([0, 65_535])
})

describe('the value of a pair is', () => {
  const cases: [string, string, JsonSchema | undefined, unknown][] = [
    ['text for a string, even if it looks like a number', '5', { type: 'string' }, '5'],
    ['quotes for a string are part of it', '"5"', { type: 'string' }, '"5"'],
    ['a number for an integer', '5', { type: 'integer' }, 5],
    ['a fraction for an integer, which validation refuses', '5.5', { type: 'integer' }, 5.5],
    ['a word for an integer, which validation refuses', 'five', { type: 'integer' }, 'five'],
    ['true for a boolean', 'true', { type: 'boolean' }, true],
    ['a list for an array', '["a",1]', { type: 'array' }, ['a', 1]],
    ['an object for an object', '{"a":{"b":1}}', { type: 'object' }, { a: { b: 1 } }],
    ['text where both fit', '5', { type: ['integer', 'string'] }, '5'],
    ['null where it is wanted', 'null', { type: ['integer', 'null'] }, null],
    ['text where nothing is said', '1.10', {}, '1.10'],
    ['text where the schema does not name the parameter', '1.10', undefined, '1.10'],
    ['the member of an enumeration, a number', '2', { enum: [1, 2] }, 2],
    ['the member of an enumeration, a text', '2', { enum: ['1', '2'] }, '2'],
    ['what one of several schemas wants', '2', { anyOf: [{ type: 'number' }, { type: 'null' }] }, 2],
  ]

  test.each(cases)('%s', (_, text, schema, expected) => {
    expect(typedValue(text, schema)).toEqual(expected)
  })
})
