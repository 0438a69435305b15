import { describe, expect, test } from 'vitest'
import { grammarAsPattern } from './fixtures/grammar-as-pattern.ts'
import { SchemaGrammar } from './schema-grammar.ts'

function patternOf(schema: object): RegExp {
  const grammar = new SchemaGrammar()
  return grammarAsPattern(grammar.toText(grammar.expression(schema as never)))
}

const point = { type: 'object', properties: { x: { type: 'number' }, y: { type: 'number' } }, required: ['x', 'y'] }
const tree = {
  type: 'object',
  properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
  required: ['name'],
}

/** A schema, what its grammar lets through, and what it does not. */
const cases: readonly [string, object, readonly string[], readonly string[]][] = [
  ['a string', { type: 'string' }, ['""', '"é 😀 \\n \\""'], ['a', '"', '"\n"', '5', '"\\x"']],
  ['a string of some length', { type: 'string', minLength: 1, maxLength: 2 }, ['"a"', '"\\"b"'], ['""', '"abc"']],
  ['a date', { type: 'string', format: 'date' }, ['"2026-03-29"'], ['"2026-13-29"', '"tomorrow"']],
  ['a time', { type: 'string', format: 'date-time' }, ['"2026-03-29T14:30:00Z"'], ['"2026-03-29"']],
  ['an integer', { type: 'integer' }, ['0', '-12'], ['1.5', '01', '"1"']],
  ['an integer from 0 on', { type: 'integer', minimum: 0 }, ['0', '12'], ['-1']],
  ['an integer between', { type: 'integer', minimum: 1, maximum: 20 }, ['1', '20'], ['0', '21']],
  ['a number', { type: 'number' }, ['1', '-1.5'], ['.5', '1e5']],
  ['a number from 0 on', { type: 'number', minimum: 0 }, ['1.5'], ['-1']],
  ['a boolean or null', { type: ['boolean', 'null'] }, ['true', 'false', 'null'], ['0']],
  ['one of some', { enum: ['a', 'b"', 3, null] }, ['"a"', '"b\\""', '3', 'null'], ['"c"', 'a']],
  ['a constant', { const: { a: 1 } }, ['{"a":1}'], ['{}']],
  ['any of some', { anyOf: [{ type: 'string' }, { type: 'integer' }] }, ['"a"', '1'], ['true']],
  ['an array', { type: 'array', items: { type: 'integer' } }, ['[]', '[1]', '[1, 2,3]'], ['[1,]', '["a"]']],
  [
    'an array of so many',
    { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 3 },
    ['[1,2]', '[1,2,3]'],
    ['[]', '[1]', '[1,2,3,4]'],
  ],
  ['an empty array', { type: 'array', maxItems: 0 }, ['[]'], ['[1]']],
  [
    'an object with all of its properties',
    point,
    ['{"x":1,"y":2}', '{"x": 1, "y": 2}'],
    ['{}', '{"x":1}', '{"x":1,"y":2,"z":3}'],
  ],
  ['no parameters', { type: 'object', properties: {} }, ['{}'], ['{"a":1}']],
  ['any object', { type: 'object' }, ['{}', '{"a":[true]}', '{"a":"b","c":null}'], ['[]']],
  ['anything', {}, ['{}', '[true]', '"a"', '1'], ['a']],
  [
    'parts that add up',
    { allOf: [point, { required: ['z'], properties: { z: { const: 1 } } }] },
    ['{"x":1,"y":2,"z":1}'],
    ['{"x":1,"y":2}'],
  ],
  [
    'a reference',
    { properties: { at: { $ref: '#/$defs/a~1b' } }, required: ['at'], $defs: { 'a/b': point } },
    ['{"at":{"x":1,"y":2}}'],
    ['{"at":1}'],
  ],
  [
    'a reference to itself',
    tree,
    ['{"name":"a","children":[{"name":"b"}]}'],
    ['{"children":[]}', '{"name":"a","children":[{}]}'],
  ],
  [
    'a reference to nowhere',
    { properties: { at: { $ref: 'https://example.com/x' } }, required: ['at'] },
    ['{"at":1}'],
    ['{}'],
  ],
]

describe('the grammar of a schema', () => {
  test.each(cases)('%s', (_, schema, through, not) => {
    const pattern = patternOf(schema)
    expect([...through, ...not].filter((text) => pattern.test(text))).toEqual(through)
  })

  test('properties that are not required may be left out, each for itself', () => {
    const properties = { a: { const: 1 }, b: { const: 2 }, c: { const: 3 } }
    const optional = patternOf({ type: 'object', properties })
    for (const text of ['{}', '{"b":2}', '{"a":1,"c":3}', '{"a":1,"b":2,"c":3}']) expect(text).toMatch(optional)
    for (const text of ['{,"b":2}', '{"a":1,}', '{"c":3,"a":1}']) expect(text).not.toMatch(optional)
    const second = patternOf({ type: 'object', properties, required: ['b'] })
    for (const text of ['{"b":2}', '{"b":2,"a":1}', '{"b":2,"c":3}']) expect(text).toMatch(second)
    for (const text of ['{}', '{"a":1}']) expect(text).not.toMatch(second)
  })
})

test('grows with the number of optional properties, not with its square', () => {
  const lengthFor = (count: number) => {
    const properties = Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, {}]))
    const grammar = new SchemaGrammar()
    return grammar.toText(grammar.expression({ type: 'object', properties })).length
  }
  expect(lengthFor(1_000)).toBeLessThan(12 * lengthFor(100))
})
