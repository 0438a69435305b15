import { compile } from 'json-p3'
import { describe, expect, test } from 'vitest'
import { JsonPath } from './json-path.ts'
import { PathTooMuch } from './path-filter.ts'

const find = (path: string, value: unknown): unknown => new JsonPath(path).find(value)

/** The store of RFC 9535, section 1.5. */
const STORE = {
  store: {
    book: [
      { category: 'reference', author: 'Nigel Rees', title: 'Sayings of the Century', price: 8.95 },
      { category: 'fiction', author: 'Evelyn Waugh', title: 'Sword of Honour', price: 12.99 },
      { category: 'fiction', author: 'Herman Melville', title: 'Moby Dick', isbn: '0-553-21311-3', price: 8.99 },
      {
        category: 'fiction',
        author: 'J. R. R. Tolkien',
        title: 'The Lord of the Rings',
        isbn: '0-395-19395-8',
        price: 22.99,
      },
    ],
    bicycle: { color: 'red', price: 399 },
  },
}

/** All that there is in JSON, in places that paths trip over. */
const ODD = {
  a: [3, 5, 1, 2, 4, 6, { b: 'j' }, { b: 'k' }, { b: {} }, { b: 'kilo' }],
  o: { p: 1, q: 2, r: 3, s: 5, t: { u: 6 } },
  e: 'f',
  n: null,
  t: true,
  '': { '': 'empty' },
  "j'k": { '@': ['quotes', '日本', '😀'] },
  deep: [[[[1, [2]], 3]], { x: [{ x: 1 }, { x: { x: null } }] }],
  list: [0, -1, 1.5, '0', null, false, [], {}, [0], { a: 0 }, { a: null }, { a: [1, 2] }, { a: [1, 2] }],
  '1': 'a number for a name',
}

describe('a path', () => {
  test.each([
    ['$.store.bicycle.color', 'red'],
    ["$['store']['book'][0]['title']", 'Sayings of the Century'],
    ['$.store.book[-1].title', 'The Lord of the Rings'],
    ['$.store.book', STORE.store.book],
    ['$', STORE],
  ])('%s that can lead to one value only gives that value', (path, expected) => {
    expect(find(path, STORE)).toBe(expected)
  })

  test.each([
    ['$..author', ['Nigel Rees', 'Evelyn Waugh', 'Herman Melville', 'J. R. R. Tolkien']],
    ['$.store.book[*].price', [8.95, 12.99, 8.99, 22.99]],
    ['$..book[?@.isbn].title', ['Moby Dick', 'The Lord of the Rings']],
    ['$..book[?@.price<10].title', ['Sayings of the Century', 'Moby Dick']],
    ['$..book[0,1].price', [8.95, 12.99]],
    ['$.store.book[1:2].title', ['Sword of Honour']],
    ['$.store[?@.color].price', [399]],
  ])('%s that can lead to many gives the list, also of one', (path, expected) => {
    expect(find(path, STORE)).toEqual(expected)
  })

  test.each(['$.shop', '$.store.book[9]', '$..editor', '$.store.book[?@.price > 100]', '$.store.book.length'])(
    '%s that does not exist gives null',
    (path) => {
      expect(find(path, STORE)).toBeNull()
    },
  )

  test('finds a null that is there', () => {
    expect(find('$.n', ODD)).toBeNull()
    expect(find('$[?@ == null]', { n: null })).toEqual([null])
  })

  test.each([
    '$.*',
    '$..*',
    '$.a[*]',
    '$.o[*, *]',
    '$..[0]',
    '$..[-1]',
    '$..b',
    '$..x',
    '$..x..x',
    '$.a[1:3]',
    '$.a[5:]',
    '$.a[1:5:2]',
    '$.a[5:1:-2]',
    '$.a[::-1]',
    '$.a[-3:]',
    '$.a[:-8]',
    '$.a[20:]',
    '$.a[0:2, 5]',
    "$['']['']",
    "$[\"j'k\"]['@'][1]",
    '$.a[?@.b]',
    "$.a[?@.b == 'kilo']",
    '$.a[?@ > 3.5]',
    '$.o[?@ < 3]',
    '$.o[?@ > 1 && @ < 4]',
    '$.o[?@.u || @.x]',
    '$.a[?!@.b]',
    '$.a[?@.b == $.x]',
    '$.list[?@ == 0]',
    "$.list[?@ == '0']",
    '$.list[?@ != null]',
    '$.list[?@ == false]',
    '$.list[?@.a == @.b]',
    '$.list[?@.a == $.list[11].a]',
    '$.list[?@ <= 0]',
    '$.list[?@ >= "0"]',
    '$.list[?length(@) == 0]',
    '$.list[?length(@.a) >= 2]',
    '$.list[?count(@.*) == 1]',
    '$.list[?count(@..*) > 2]',
    '$.list[?value(@.a) == 0]',
    '$.list[?value(@.*) == 1]',
    "$.a[?match(@.b, '[jk]')]",
    "$.a[?search(@.b, 'il')]",
    "$..[?match(@, 'f|k.*')]",
    '$..[?@.a[?@ == 2]]',
    '$[?@..x]',
    '$..[?@.x]',
    '$.deep..[0]',
    '$.deep..[?@ == 3]',
    '$["1"]',
    '$[1]',
    '$.e[0]',
    '$.list[?(@.a == 0 || @.a == null) && !(@ == 0)]',
    '$.list[?@ == 1.5e0]',
  ])('%s finds the same values as the library', (path) => {
    const nodes = compile(path)
      .query(ODD as never)
      .values()
    const found = find(path, ODD)
    const list = new JsonPath(path).singular ? (nodes.length === 0 ? [] : [found]) : (found ?? [])
    expect(list).toEqual(nodes)
  })

  test('counts the characters of a text, not their halves', () => {
    expect(find('$[?length(@) == 1]', ['😀', 'ab', 'é'])).toEqual(['😀', 'é'])
  })

  test('means the whole answer by $, also inside a filter inside a filter', () => {
    const value = { wanted: 2, rows: [{ ids: [1, 2] }, { ids: [3] }] }
    expect(find('$.rows[?@.ids[?@ == $.wanted]]', value)).toEqual([{ ids: [1, 2] }])
  })

  test('finds own keys only, with any name', () => {
    const value = JSON.parse('{"__proto__": {"x": 1}, "a": {}}')
    expect(find('$.a.constructor', value)).toBeNull()
    expect(find('$.a.toString', value)).toBeNull()
    expect(find('$.a.x', value)).toBeNull()
    expect(find("$['__proto__'].x", value)).toBe(1)
  })

  test.each([
    ['store.book', 'not a JSONPath'],
    ['$.', 'not a JSONPath'],
    ['', 'not a JSONPath'],
    ['$[?@.a == @.*]', 'non-singular query is not comparable'],
    ['$[?match(@.a, @.pattern)]', 'match() with a pattern that is not a literal'],
    ["$[?match(@.a, '(a')]", "the pattern '(a' cannot be used"],
    ["$[?match(@.a, '(?=a)')]", "the pattern '(?=a)' cannot be used"],
    ['$[?unknown(@)]', "no such function 'unknown'"],
  ])('%s is refused with a sentence', (path, words) => {
    expect(() => new JsonPath(path)).toThrow(words)
    expect(() => new JsonPath(path)).toThrow(JSON.stringify(path))
  })
})

describe('an answer that was made to be slow', () => {
  const MB = 1024 * 1024
  const wide = JSON.parse(`[${'0,'.repeat(2 * MB)}0]`)
  const table = Object.fromEntries(Array.from({ length: 300_000 }, (_, index) => [`key${index}`, index]))
  let nested: unknown[] = []
  for (let depth = 0; depth < 500; depth++) nested = [nested, 1]
  const texts = Array.from({ length: 50 }, () => ({ a: 'a'.repeat(100_000) }))

  test.each([
    ['$..*', wide],
    ['$..nowhere', wide],
    ['$[*]', wide],
    ['$[?@ == 0]', wide],
    ['$[?count($[*]) > 1]', wide],
    ['$[?$[0] == $[1]]', wide],
    ['$..*', table],
    ['$[*]', table],
    ['$..[?@ == $]', table],
    ['$..*..*..*', nested],
    ['$..[?@..[?@..x]]', nested],
    ['$[*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*]', nested],
    ["$[?search(@.a, '(a+)+[bc]')]", texts],
  ])('is not looked through to its end by %s', (path, value) => {
    expect(() => find(path, value)).toThrow(PathTooMuch)
  })

  test('does not limit direct paths', () => {
    expect(find('$.key299999', table)).toBe(299_999)
    expect(find('$[-1]', wide)).toBe(0)
  })

  test('is forgotten with the next one', () => {
    const path = new JsonPath('$..*')
    expect(() => path.find(wide)).toThrow(PathTooMuch)
    expect(path.find([1, [2]])).toEqual([1, [2], 2])
  })

  test('may be as large as answers are', () => {
    const rows = Array.from({ length: 40_000 }, (_, id) => ({
      id,
      name: `row ${id}`,
      tags: ['a', 'b'],
      size: { w: 1 },
    }))
    expect(find('$.rows[*].name', { rows })).toHaveLength(40_000)
    expect(find('$..id', { rows })).toHaveLength(40_000)
    const wanted = rows.filter(({ name }) => name.includes('99')).map(({ id }) => id)
    expect(find("$.rows[?@.size.w == 1 && search(@.name, '99')].id", { rows })).toEqual(wanted)
  })
})
