import { describe, expect, test } from 'vitest'
import { parseDocument } from './documents.ts'

describe('a document is read', () => {
  test.each([
    ['JSON', '{"openapi": "3.0.0"}'],
    ['JSON with a byte order mark', '\uFEFF {"openapi": "3.0.0"}'],
    ['YAML', 'openapi: 3.0.0\n'],
    ['YAML that begins like JSON', '{openapi: 3.0.0}'],
    ['YAML with a document mark', '---\nopenapi: "3.0.0"\n...\n'],
  ])('from %s', (_, text) => {
    expect(parseDocument(text, 'a')).toEqual({ openapi: '3.0.0' })
  })

  test('with anchors, merges and keys that are numbers', () => {
    const text = 'base: &b {type: string}\nuse: *b\nmerged: {<<: *b, minLength: 1}\nresponses: {200: {a: 1}}'
    expect(parseDocument(text, 'a')).toEqual({
      base: { type: 'string' },
      use: { type: 'string' },
      merged: { type: 'string', minLength: 1 },
      responses: { 200: { a: 1 } },
    })
  })

  test('with one anchor that is used a thousand times', () => {
    const text = `base: &b {type: string}\n${Array.from({ length: 1000 }, (_, at) => `k${at}: *b`).join('\n')}`
    expect(Object.keys(Object(parseDocument(text, 'a')))).toHaveLength(1001)
  })

  test('keys of prototypes are keys like others', () => {
    for (const text of ['{"__proto__": {"polluted": true}}', '__proto__: {polluted: true}']) {
      expect(Object.keys(Object(parseDocument(text, 'a')))).toEqual(['__proto__'])
    }
    expect({}).not.toHaveProperty('polluted')
  })
})

describe('rejects invalid documents', () => {
  test.each([
    ['nothing', ' \n', 'doc is empty.'],
    ['a page', '<!doctype html><title>x</title>', 'doc is a page or XML, not an OpenAPI document in JSON or YAML.'],
    ['broken JSON', '{"a": [1, }', 'doc is not valid JSON: '],
    ['broken YAML', 'a: [1\nb: 2', 'doc is neither valid JSON nor YAML: '],
    [
      'a bomb of aliases',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
        .split('')
        .map((name, at) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[at]}`).join(',')}]`)
        .join('\n')}`,
      'doc is neither valid JSON nor YAML: ',
    ],
    ['an alias in itself', 'a: &a [*a]', 'doc is neither valid JSON nor YAML: '],
    [
      'JSON that is nested too deep',
      '{"a":'.repeat(2_000) + '1'.concat('}'.repeat(2_000)),
      'doc is nested deeper than 512 levels: flatten it.',
    ],
    [
      'YAML flow that is too deep for the stack',
      `a: ${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
      'doc is neither valid JSON nor YAML: it is nested too deep.',
    ],
    [
      'YAML flow that is nested too deep',
      `a: ${'['.repeat(600)}${']'.repeat(600)}`,
      'doc is neither valid JSON nor YAML: it is nested too deep',
    ],
    ['YAML that is nested too deep', '- '.repeat(20_000), 'doc is neither valid JSON nor YAML: '],
    ['brackets that are nested too deep', `a: ${'['.repeat(100_000)}`, 'doc is neither valid JSON nor YAML: '],
    [
      'large YAML',
      `a: ${'x'.repeat(17 * 1024 * 1024)}`,
      'doc is YAML of 17 MB, and at most 16 MB are read: convert it to JSON.',
    ],
  ])('%s', (_, text, problem) => {
    expect(() => parseDocument(text, 'doc')).toThrow(problem)
  })
})
