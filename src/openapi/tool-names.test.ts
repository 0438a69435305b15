import { describe, expect, test } from 'vitest'
import { api } from './fixtures/documents.ts'
import { importOpenapi } from './import-openapi.ts'

type Ids = readonly (readonly [path: string, id?: string | undefined])[]

/** The names of GET operations with these ids, by path. */
function names(ids: Ids, prefix = ''): Record<string, string> {
  const paths = Object.fromEntries(
    ids.map(([path, operationId]) => [path, { get: { ...(operationId !== undefined && { operationId }) } }]),
  )
  const { definitions } = importOpenapi(api(paths), { prefix })
  return Object.fromEntries(
    definitions.map(({ name, implementation }) => [
      decodeURI(String(implementation.url)).replace('https://shop.example/v1', ''),
      name,
    ]),
  )
}

const only = (id: string | undefined, prefix = '', path = '/a'): string | undefined => names([[path, id]], prefix)[path]

describe('the name of a tool', () => {
  test.each([
    ['listPets', 'listPets'],
    ['pets/list-all', 'pets_list-all'],
    ['Pets.List (all)', 'Pets_List_all'],
    ['__init__', 'init'],
    ['créer-café', 'creer-cafe'],
  ])('comes from the operation id %j', (id, name) => {
    expect(only(id)).toBe(name)
  })

  test.each([
    ['/users/{id}/posts', 'get_users_id_posts'],
    ['/', 'get'],
    ['/a.b/{c-d}', 'get_a_b_c-d'],
  ])('else from method and path: %s', (path, name) => {
    expect(only(undefined, '', path)).toBe(name)
    expect(only('', '', path)).toBe(name)
  })

  test('has a suffix if letters are lost', () => {
    expect(only('取得user')).toMatch(/^user_[0-9a-f]{8}$/)
    expect(only('獲取用戶', '', '/用戶')).toMatch(/^get_[0-9a-f]{8}$/)
    expect(only('a'.repeat(100))).toMatch(/^a{55}_[0-9a-f]{8}$/)
  })

  test('begins with the prefix', () => {
    expect([only('list', 'pets'), only('list', 'pets_'), only('list', 'pets-')]).toEqual([
      'pets_list',
      'pets_list',
      'pets-list',
    ])
    expect(only('b'.repeat(64), 'pets')).toMatch(/^pets_b{50}_[0-9a-f]{8}$/)
  })

  test('is one that models accept, whatever the document says', () => {
    const ids = [
      'a b',
      '\u0000',
      '../../x',
      '${HOME}',
      '<script>',
      '😀',
      ' ',
      '-',
      'x'.repeat(10_000),
      '__proto__',
      'constructor',
      '%00',
    ]
    const found = Object.values(names(ids.map((id, at) => [`/p${at}`, id])))
    expect(new Set(found).size).toBe(ids.length)
    for (const name of found) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
  })
})

describe('two operations never share a name', () => {
  const ids: Ids = [
    ['/a', 'list'],
    ['/b', 'list'],
    ['/c', 'li st'],
    ['/d', 'li/st'],
    ['/e', 'li_st'],
    ['/f'],
    ['/g', 'get_f'],
  ]

  test('both get a suffix, unless one of them is called so letter by letter', () => {
    const found = names(ids)
    expect(found['/a']).toMatch(/^list_[0-9a-f]{8}$/)
    expect(found['/b']).toMatch(/^list_[0-9a-f]{8}$/)
    expect(found['/c']).toMatch(/^li_st_[0-9a-f]{8}$/)
    expect(found['/e']).toBe('li_st')
    expect(found['/f']).toMatch(/^get_f_[0-9a-f]{8}$/)
    expect(found['/g']).toBe('get_f')
    expect(new Set(Object.values(found)).size).toBe(ids.length)
  })

  test('the order of operations changes nothing, nor do others that come and go', () => {
    const found = names(ids)
    expect(names([...ids].reverse())).toEqual(found)
    expect(names([...ids, ['/z', 'other']])).toMatchObject(found)
    expect(names(ids.filter(([path]) => path !== '/d' && path !== '/g'))['/a']).toBe(found['/a'])
  })

  test('not even where a suffix is taken', () => {
    const suffixed =
      names([
        ['/a', 'list'],
        ['/b', 'list'],
      ])['/a'] ?? ''
    const found = names([
      ['/a', 'list'],
      ['/b', 'list'],
      ['/c', suffixed],
    ])
    expect(found['/c']).toBe(suffixed)
    expect(found['/a']).toMatch(/^list_[0-9a-f]{12}$/)
  })

  test('and it is the same whatever is included', () => {
    const paths = { '/a': { get: { operationId: 'list' } }, '/b': { get: { operationId: 'list' } } }
    const [all] = importOpenapi(api(paths)).definitions
    const [some] = importOpenapi(api(paths), { include: [String(all?.name)] }).definitions
    expect(some).toEqual(all)
  })
})
