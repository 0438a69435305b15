import { expect, test } from 'vitest'
import { jsonDocument } from './records.ts'
import { splitDocument } from './split-document.ts'

const parts = (value: unknown) => {
  const document = jsonDocument(typeof value === 'string' ? value : JSON.stringify(value), 'a.json')
  return document?.blocks.map(({ start, end, path, nth }) => [path.join(' › '), nth, document.text.slice(start, end)])
}

test('reads list items as records with their path', () => {
  expect(parts([{ a: 1 }, { a: 'two', b: [true, null] }])).toEqual([
    ['item', 1, 'a: 1'],
    ['item', 2, 'a: two\nb: true, null'],
  ])
  expect(parts({ version: 2, data: { users: [{ name: 'Ada', at: { city: 'Paris' } }, { name: 'Bob' }] } })).toEqual([
    ['', 0, 'version: 2\ndata.users[0].name: Ada\ndata.users[0].at.city: Paris\ndata.users[1].name: Bob'],
  ])
  const long = 'x'.repeat(500)
  expect(parts({ version: 2, data: { users: [{ name: 'Ada' }, { name: long }], next: null, of: 9 } })).toEqual([
    ['', 0, 'version: 2'],
    ['data', 0, 'of: 9'],
    ['data › users › item', 1, 'name: Ada'],
    ['data › users › item', 2, `name: ${long}`],
  ])
})

test('joins short values in one line', () => {
  const long = 'word '.repeat(30).trim()
  expect(parts({ tags: ['a', 2], texts: [long, 'b'] })).toEqual([['', 0, `tags: a, 2\ntexts[0]: ${long}\ntexts[1]: b`]])
})

test('merges small records, with their range', () => {
  const document = jsonDocument(JSON.stringify({ users: Array.from({ length: 30 }, (_, n) => ({ n })) }), 'a.json')
  if (document === undefined) throw new Error('it is JSON')
  const pieces = splitDocument(document, { chunkSize: 100 })
  expect(pieces.map((piece) => piece.heading)).toEqual(['users › items 1–16', 'users › items 17–30'])
})

test('does not merge records of different lists', () => {
  const document = jsonDocument('{"a":[{"n":1}],"b":[{"n":2}]}', 'a.json')
  if (document === undefined) throw new Error('it is JSON')
  expect(splitDocument(document).map(({ heading, text }) => [heading, text])).toEqual([
    ['a › item 1', 'n: 1'],
    ['b › item 1', 'n: 2'],
  ])
  const large = jsonDocument(JSON.stringify({ x: 1, settings: { text: 'y'.repeat(500) } }), 'a.json')
  expect(large && splitDocument(large).map(({ heading }) => heading)).toEqual(['', 'settings'])
})

test('reads JSON Lines, and other lines as text', () => {
  const document = jsonDocument('{"a":1}\n\n{"a":2}\n{bad\n', 'a.jsonl')
  expect(document?.text).toBe('a: 1\n\na: 2\n\n{bad')
  expect(document?.blocks.map(({ nth }) => nth)).toEqual([1, 3, 4])
  expect(document?.warnings).toEqual(['1 of its lines are not JSON and were read as text'])
})

test('keeps the digits of long numbers', () => {
  expect(parts('{"id": 12345678901234567890, "x": 0.1, "y": 1e3, "z": 1.0}')).toEqual([
    ['', 0, 'id: 12345678901234567890\nx: 0.1\ny: 1e3\nz: 1.0'],
  ])
})

test('replaces characters that databases reject', () => {
  expect(parts('{"a": "x\\u0000y\\ud800z", "\\u0000": {"b": 1}}')).toEqual([['', 0, 'a: x\ufffdy\ufffdz\n\ufffd.b: 1']])
})

test('uses the property title', () => {
  expect(jsonDocument('{"title": " Guide "}', 'a.json')?.title).toBe('Guide')
  expect(jsonDocument('{"title": 3}', 'a.json')?.title).toBeUndefined()
})

test.each([['{"a":1,}'], ['// remark\n{}'], ['['.repeat(100_000)], [`${'['.repeat(300)}${']'.repeat(300)}`], ['no']])(
  'returns undefined for invalid or deeply nested JSON: %.20s',
  (text) => {
    expect(jsonDocument(text, 'a.json')).toBeUndefined()
  },
)

test('reads empty values as an empty document', () => {
  for (const text of ['{}', '[]', 'null', '""', '{"a":[],"b":{}}']) expect(jsonDocument(text, 'a.json')?.text).toBe('')
  expect(jsonDocument('"only text"', 'a.json')?.text).toBe('only text')
  expect(jsonDocument('{"__proto__": {"a": 1}, "constructor": 2}', 'a.json')?.text).toBe(
    '__proto__.a: 1\nconstructor: 2',
  )
})

test('refuses a document whose long keys would be repeated too often', () => {
  const inner = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`a${at}`, 'v']))
  const text = JSON.stringify([{ ['k'.repeat(1_000_000)]: inner }])
  expect(() => jsonDocument(text, 'a.json')).toThrow('its records have more than 100 million characters')
})
