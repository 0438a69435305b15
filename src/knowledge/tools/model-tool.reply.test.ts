import { describe, expect, test } from 'vitest'
import { readReply, spoken } from './model-tool.ts'

const first = (reply: string): unknown => readReply(spoken(reply)).next().value

describe('readReply', () => {
  test.each([
    ['as it stands', '{"a": [1, "x"]}', { a: [1, 'x'] }],
    ['in a code fence', '```json\n{"a": 1}\n```', { a: 1 }],
    ['in a code fence without a language', 'Here:\n```\n{"a": 1}\n```\nDone.', { a: 1 }],
    ['in a code fence that is not closed', '```json\n{"a": 1}', { a: 1 }],
    ['with prose around it', 'Sure! The answer is {"a": 1}. Anything else?', { a: 1 }],
    ['as a list', 'Tags: ["x", "y"]', ['x', 'y']],
    ['with code fences in its texts', '{"a": "```js\\nx\\n```"}', { a: '```js\nx\n```' }],
    ['behind thinking', '<think>{"a": 0}?</think>\n{"a": 1}', { a: 1 }],
    ['with commas at the ends', '{"a": [1, 2,], }', { a: [1, 2] }],
    ['with single quotes', "{'a': 'it is'}", { a: 'it is' }],
    ['with names without quotes', '{a: true}', { a: true }],
    ['with constants of Python', '{"a": None, "b": True}', { a: null, b: true }],
    ['with comments', '{"a": 1 /* sure */}', { a: 1 }],
    ['without its end', '{"a": ["x", "y', { a: ['x', 'y'] }],
    ['wrong, in a fence, with prose around', "Well:\n```json\n{'a': 1,}\n```\nThat is all.", { a: 1 }],
  ])('%s', (_, reply, value) => {
    expect(first(reply)).toEqual(value)
  })
})

test('returns valid JSON before repaired JSON', () => {
  expect([...readReply('See {x}: ```\n{"a": 1}\n```')][0]).toEqual({ a: 1 })
})

test.each(['', 'Just words.', '42', '"text"', 'null', 'if (a) ...'])('reads nothing from %j', (reply) => {
  expect(first(reply)).toBeUndefined()
})

test.each([
  ['brackets within brackets', '['.repeat(65)],
  ['objects without end', '{"a":'.repeat(5_000)],
  ['more than is repaired', `{'a': '${'x'.repeat(5_000)}'}`],
])('does not repair %s', (_, reply) => {
  expect(first(reply)).toBeUndefined()
})

test('reads a long JSON reply', () => {
  expect(first(JSON.stringify({ a: 'x'.repeat(150_000) }))).toHaveProperty('a')
})

test('keeps thinking without an end tag', () => {
  expect(spoken('  <think> so it begins ')).toBe('<think> so it begins')
  expect(spoken('<think>\nHm.\n</think>\n\nYes. ')).toBe('Yes.')
})
