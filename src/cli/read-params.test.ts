import { expect, test } from 'vitest'
import { readParams } from './read-params.ts'

async function* input(...pieces: (string | Buffer)[]) {
  yield* pieces
}
const schema = { type: 'object', properties: { n: { type: 'number' } } }

test('nothing given is an empty object, and stdin is left alone', async () => {
  expect(await readParams([], schema, input('{"n":1}'))).toEqual({})
})

test('an object may hold anything, also = and line breaks', async () => {
  expect(await readParams([' {"a=b": "c=d",\n "n": 1} '], schema, input())).toEqual({ 'a=b': 'c=d', n: 1 })
})

test('the value of a pair is all that follows the first =', async () => {
  const words = ['query=a = b', 'n=-1.5e3', 'empty=', 'lines=a\nb']
  expect(await readParams(words, schema, input())).toEqual({ query: 'a = b', n: -1500, empty: '', lines: 'a\nb' })
})

test('characters that stdin delivers in pieces are put together', async () => {
  const bytes = Buffer.from('{"text":"é👍"}')
  const pieces = Array.from(bytes, (byte) => Buffer.from([byte]))
  expect(await readParams(['-'], schema, input(...pieces))).toEqual({ text: 'é👍' })
})

test('stdin without end is not read without end', async () => {
  async function* endless() {
    for (;;) yield Buffer.alloc(65_536, 'x')
  }
  await expect(readParams(['-'], schema, endless())).rejects.toThrow('stdin holds more than 2097152 bytes')
})

test('a word that is none of the forms is quoted, and the forms are named', async () => {
  await expect(readParams(['a=1', '\u001b[2J'], schema, input())).rejects.toThrow(
    "'\\u001b[2J' is no key=value pair. Give one JSON object, - to read it from stdin, or key=value pairs.",
  )
})
