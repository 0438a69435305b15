import { describe, expect, test } from 'vitest'
import type { Params } from '../../../core/tool.ts'
import { httpTool } from './fixtures/http-tool.ts'
import { compileRequest } from './request-plan.ts'

const LIST = ['blue', 'b,l&k', 3]
const OBJECT = { R: 100, G: 'a b', 'B/B': true }
const SCHEMAS = { c: { type: ['array', 'object', 'string'], properties: { R: {}, G: {}, 'B/B': {} } } }

const build = (implementation: Readonly<Record<string, unknown>>, params: Params) =>
  compileRequest(httpTool(implementation, SCHEMAS), {}).build(params)

describe('lists and objects in the query', () => {
  test.each([
    ['a list without a style', {}, LIST, 'c=blue&c=b%2Cl%26k&c=3'],
    ['a list with explode false', { explode: false }, LIST, 'c=blue,b%2Cl%26k,3'],
    [
      'an object without a style, as JSON',
      {},
      OBJECT,
      'c=%7B%22R%22%3A100%2C%22G%22%3A%22a%20b%22%2C%22B%2FB%22%3Atrue%7D',
    ],
    ['form', { style: 'form' }, LIST, 'c=blue&c=b%2Cl%26k&c=3'],
    ['form, an object', { style: 'form' }, OBJECT, 'R=100&G=a%20b&B%2FB=true'],
    ['form without explode', { style: 'form', explode: false }, LIST, 'c=blue,b%2Cl%26k,3'],
    ['form without explode, an object', { style: 'form', explode: false }, OBJECT, 'c=R,100,G,a%20b,B%2FB,true'],
    ['spaceDelimited', { style: 'spaceDelimited' }, ['a', 'b'], 'c=a%20b'],
    ['spaceDelimited with explode', { style: 'spaceDelimited', explode: true }, ['a b', 'b'], 'c=a%20b&c=b'],
    ['spaceDelimited, an object', { style: 'spaceDelimited' }, { R: 1, G: 2 }, 'c=R%201%20G%202'],
    ['pipeDelimited', { style: 'pipeDelimited' }, ['a b', 'b'], 'c=a%20b%7Cb'],
    ['pipeDelimited, an object', { style: 'pipeDelimited' }, { R: 1, G: 2 }, 'c=R%7C1%7CG%7C2'],
    ['deepObject', { style: 'deepObject' }, OBJECT, 'c%5BR%5D=100&c%5BG%5D=a%20b&c%5BB%2FB%5D=true'],
    [
      'deepObject, deeper',
      { style: 'deepObject' },
      { a: { b: [1, { d: 2 }] } },
      'c%5Ba%5D%5Bb%5D%5B0%5D=1&c%5Ba%5D%5Bb%5D%5B1%5D%5Bd%5D=2',
    ],
    ['deepObject, a list', { style: 'deepObject' }, ['x'], 'c%5B0%5D=x'],
    ['deepObject, a key with brackets', { style: 'deepObject' }, { 'a]&x=': 1 }, 'c%5Ba%5D%26x%3D%5D=1'],
    ['a text in any style', { style: 'pipeDelimited' }, 'a|b', 'c=a%7Cb'],
    ['a list of objects', {}, [{ a: 1 }], 'c=%7B%22a%22%3A1%7D'],
    ['a list with null in it', {}, [1, null, 2], 'c=1&c=2'],
    ['an object with null in it', { style: 'form' }, { R: null, G: 1 }, 'G=1'],
  ])('%s', (_, style, value, query) => {
    const { path } = build({ params_in: { c: { in: 'query', ...style } } }, { c: value })
    expect(path).toBe(`/things?${query}`)
  })

  test.each([
    [[], {}],
    [{}, { style: 'form' }],
    [[null], { explode: false }],
    [{}, { style: 'deepObject' }],
  ])('omits an empty value: %j as %j', (value, style) => {
    expect(build({ params_in: { c: { in: 'query', ...style } } }, { c: value }).path).toBe('/things')
  })

  test('only keys that the schema names become parameters of their own', () => {
    const params_in = { c: { in: 'query', style: 'form' } }
    expect(build({ params_in }, { c: { R: 1, admin: true, api_key: 'x' } }).path).toBe('/things?R=1')
  })

  test.each([
    ['spaceDelimited', ['a', 'b c'], 'c must not contain an item with \' \', which separates items: "b c"'],
    ['pipeDelimited', { a: 1, 'b|c': 2 }, 'c must not contain an item with \'|\', which separates items: "b|c"'],
  ])('rejects an item in %s that contains the delimiter', (style, value, sentence) => {
    expect(() => build({ params_in: { c: { in: 'query', style } } }, { c: value })).toThrow(sentence)
  })
})

describe('lists and objects in the path', () => {
  test.each([
    ['simple', {}, LIST, 'blue,b%2Cl%26k,3'],
    ['simple, an object', {}, OBJECT, 'R,100,G,a%20b,B%2FB,true'],
    ['simple with explode', { explode: true }, OBJECT, 'R=100,G=a%20b,B%2FB=true'],
    ['label, a text', { style: 'label' }, 'blue', '.blue'],
    ['label', { style: 'label' }, LIST, '.blue,b%2Cl%26k,3'],
    ['label with explode', { style: 'label', explode: true }, LIST, '.blue.b%2Cl%26k.3'],
    ['label, an object', { style: 'label' }, { R: 1, G: 2 }, '.R,1,G,2'],
    ['label with explode, an object', { style: 'label', explode: true }, { R: 1, G: 2 }, '.R=1.G=2'],
    ['matrix, a text', { style: 'matrix' }, 'blue', ';c=blue'],
    ['matrix', { style: 'matrix' }, LIST, ';c=blue,b%2Cl%26k,3'],
    ['matrix with explode', { style: 'matrix', explode: true }, LIST, ';c=blue;c=b%2Cl%26k;c=3'],
    ['matrix, an object', { style: 'matrix' }, { R: 1, G: 2 }, ';c=R,1,G,2'],
    ['matrix with explode, an object', { style: 'matrix', explode: true }, { R: 1, G: 2 }, ';R=1;G=2'],
  ])('%s', (_, style, value, text) => {
    const implementation = { url: 'https://a.test/x/{c}/y', params_in: { c: { in: 'path', ...style } } }
    expect(build(implementation, { c: value }).path).toBe(`/x/${text}/y`)
  })

  test.each([[[]], [{}], [[null]], [['']], [['.']], [['a', '../x']], [{ '..': 1 }]])('%j is refused', (value) => {
    const implementation = { url: 'https://a.test/x/{c}/y' }
    expect(() => build(implementation, { c: value })).toThrow('Invalid parameters: c must not be')
  })

  test.each([
    ['label', ['']],
    ['label', ['', '']],
    ['label', '.'],
  ])('a %s that comes out as dots is refused', (style, value) => {
    const implementation = { url: 'https://a.test/x/{c}/y', params_in: { c: { in: 'path', style, explode: true } } }
    expect(() => build(implementation, { c: value })).toThrow('Invalid parameters: c must not be . or ..')
  })
})

describe('lists and objects in headers and cookies', () => {
  test.each([
    ['header', {}, ['a', 'b c', 3], 'a,b c,3'],
    ['header', {}, { R: 1, G: 2 }, 'R,1,G,2'],
    ['header', { explode: true }, { R: 1, G: 2 }, 'R=1,G=2'],
    ['cookie', {}, ['a', 'b'], 'c=a; c=b'],
    ['cookie', { explode: false }, ['a', 'b;c'], 'c=a,b%3Bc'],
    ['cookie', { style: 'form' }, { R: 1, G: 2, other: 3 }, 'R=1; G=2'],
    ['cookie', {}, { R: 1 }, 'c=%7B%22R%22%3A1%7D'],
  ])('in a %s, as %j: %j', (place, style, value, text) => {
    const { headers } = build({ params_in: { c: { in: place, ...style } } }, { c: value })
    expect(headers[place === 'header' ? 'c' : 'cookie']).toBe(text)
  })

  test('an item of a header cannot hold a comma', () => {
    expect(() => build({ params_in: { c: 'header' } }, { c: ['a', 'b,c'] })).toThrow(
      'Invalid parameters: c must not contain an item with \',\', which separates items: "b,c"',
    )
    expect(build({ params_in: { c: 'header' } }, { c: 'b,c' }).headers.c).toBe('b,c')
  })

  test('an empty list is left out', () => {
    expect('c' in build({ params_in: { c: 'header' } }, { c: [] }).headers).toBe(false)
  })
})

describe('a key that is sent with each of its entries', () => {
  const form = { method: 'POST', body: 'form' }
  const entries = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`e${index}`, 1]))
  const long = 'k'.repeat(1_000)

  test.each([
    ['deepObject in the query', { params_in: { c: { in: 'query', style: 'deepObject' } } }, { [long]: entries(9_000) }],
    [
      'deepObject in a form',
      { ...form, params_in: { c: { in: 'body', style: 'deepObject' } } },
      { [long]: entries(9_000) },
    ],
    ['a whole form', { ...form, body_param: 'c' }, { [long]: Array(9_000).fill(1) }],
    [
      'several keys of a form',
      { ...form, body_param: 'c' },
      { [long]: Array(5_000).fill(1), [`${long}2`]: Array(5_000).fill(1) },
    ],
  ])('is refused if the request would be too long: %s', (_, implementation, c) => {
    expect(() => build(implementation, { c })).toThrow(
      /^Invalid parameters: (?:c|the query) must have at most 8388608 characters when it is sent, not: \d{7,8}$/,
    )
  })

  test('is sent if the request is short enough', () => {
    expect(build({ ...form, body_param: 'c' }, { c: { [long]: Array(8_000).fill(1) } }).body).toHaveLength(8_023_999)
  })
})
