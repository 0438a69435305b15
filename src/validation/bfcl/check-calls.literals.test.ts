import { describe, expect, test } from 'vitest'
import { javascriptValue, javaValue } from './check-calls.ts'

describe('a literal of Java', () => {
  test.each<[string, string, unknown, string?]>([
    ['integer', '-42', -42],
    ['integer', '4.2', '4.2'],
    ['short', '7', 7],
    ['long', '10L', 10],
    ['long', '10', '10'],
    ['float', '1.5f', 1.5],
    ['float', '1.5', '1.5'],
    ['double', '1.5e3', 1500],
    ['double', '1.5f', '1.5f'],
    ['boolean', 'true', true],
    ['boolean', 'True', 'True'],
    ['String', '"a"', '"a"'],
    ['any', 'TimeUnit.SECONDS', 'TimeUnit.SECONDS'],
    ['Array', 'new int[]{1, 2}', [1, 2], 'integer'],
    ['Array', 'new String[] { "a, b", "c" }', ['a, b', 'c'], 'String'],
    ['Array', 'new long[]{1L, 2}', [1, '2'], 'long'],
    ['Array', 'new Object[]{1, "a", true, 2.5f, x}', [1, 'a', true, 2.5, 'x']],
    ['Array', 'new int[]{}', [], 'integer'],
    ['Array', 'names', 'names', 'String'],
    ['ArrayList', 'new ArrayList<>(Arrays.asList(1, 2))', [1, 2], 'integer'],
    ['ArrayList', "new ArrayList<Character>() {{ add('a'); add('b'); }}", ['a', 'b'], 'char'],
    ['ArrayList', 'new ArrayList<>()', []],
    ['ArrayList', 'new ArrayList<>() {{ remove(1); }}', 'new ArrayList<>() {{ remove(1); }}'],
    ['HashMap', 'new HashMap<String, Object>() {{ put("a", 1L); put("b", "x;y"); }}', { a: 1, b: 'x;y' }],
    ['HashMap', 'new HashMap<>() { { put("a", true); } }', { a: true }],
    ['HashMap', 'new HashMap<>()', {}],
    ['HashMap', 'settings', 'settings'],
  ])('of type %s: %s', (type, text, value, items) => {
    expect(javaValue(text, type, items)).toEqual(value)
  })
})

describe('a literal of JavaScript', () => {
  test.each<[string, string, unknown, string?]>([
    ['String', "'a'", 'a'],
    ['String', '"a"', 'a'],
    ['String', 'a', 'a'],
    ['String', '\'a"', '\'a"'],
    ['integer', '-3', -3],
    ['integer', '3.5', '3.5'],
    ['float', '3.5', 3.5],
    ['float', '3.5x', '3.5x'],
    ['Bigint', '10n', 10],
    ['Bigint', '10', '10'],
    ['Boolean', 'false', false],
    ['Boolean', 'no', 'no'],
    ['any', 'x => x', 'x => x'],
    ['array', "['a, b', 'c']", ['a, b', 'c'], 'String'],
    ['array', 'new Array(1, 2)', [1, 2], 'integer'],
    [
      'array',
      '[[1, 2], [3, 4]]',
      [
        [1, 2],
        [3, 4],
      ],
      'array',
    ],
    ['array', '[]', [], 'String'],
    ['array', 'list', 'list', 'String'],
    ['dict', "{'a': 1, b: [true, 'x'], \"c\": {d: 'e:f'}}", { a: 1, b: [true, 'x'], c: { d: 'e:f' } }],
    ['dict', '{}', {}],
    ['dict', 'config', 'config'],
  ])('of type %s: %s', (type, text, value, items) => {
    expect(javascriptValue(text, type, items)).toEqual(value)
  })
})
