import { describe, expect, test } from 'vitest'
import { type Claims, claimOf, clientOf, isLeftOut, nameOf, valuesOf } from './claims.ts'

const read = (text: string) => JSON.parse(text) as Claims

describe('claimOf', () => {
  const claims = read(`{
    "groups": ["a"], "realm_access": { "roles": ["b"] },
    "https://example.com/roles": ["c"], "https://example.com/app": { "roles": ["d"] },
    "resource_access": { "tools.example.com": { "roles": ["e"] }, "tools": { "example": "f" } },
    "a.b": { "x": 1 }, "a": { "b": { "c": 2 } }, "list": [{ "roles": "g" }], "text": "h", "nothing": null,
    "own": { "__proto__": { "roles": "i" } }
  }`)

  test.each([
    ['groups', ['a']],
    ['realm_access.roles', ['b']],
    ['https://example.com/roles', ['c']],
    ['https://example.com/app.roles', ['d']],
    ['resource_access.tools.example.com.roles', ['e']],
    ['resource_access.tools.example', 'f'],
    ['a.b.c', 2],
    ['a.b.x', 1],
    ['own.__proto__.roles', 'i'],
    ['nothing', null],
  ])('finds %s', (path, expected) => {
    expect(claimOf(claims, path)).toEqual(expected)
  })

  test.each([
    ...['missing', 'groups.0', 'groups.length', 'list.0.roles', 'text.length', 'nothing.x', '.groups', 'groups.', ''],
    ...['constructor', '__proto__', 'toString.name', 'realm_access.constructor.name', 'realm_access.__proto__'],
  ])('finds nothing at %j', (path) => {
    expect(claimOf(claims, path)).toBeUndefined()
  })
})

describe('valuesOf', () => {
  test('takes a text, a list and several claims together, and nothing but texts', () => {
    const claims = { one: 'a', list: ['b', 7, null, { c: 'c' }, ['d']], deep: { roles: ['e'] }, scope: 'f' }
    expect([...valuesOf(claims, 'one')]).toEqual(['a'])
    expect([...valuesOf(claims, ['one', 'list', 'deep.roles', 'missing'])]).toEqual(['a', 'b', 'e'])
  })

  test('splits scopes, and no other texts', () => {
    const claims = { scope: 'openid tools', scp: ['x y'], groups: 'all staff' }
    expect([...valuesOf(claims, ['scope', 'scp', 'groups'])]).toEqual(['openid', 'tools', 'x y', 'all staff'])
  })
})

test('clientOf knows the claims of all issuers', () => {
  for (const claim of ['azp', 'appid', 'cid', 'client_id']) expect(clientOf({ [claim]: 'cli' })).toBe('cli')
  expect([clientOf({}), clientOf({ azp: '', cid: 7 })]).toEqual([undefined, undefined])
})

test('isLeftOut tells that the issuer has left a claim out', () => {
  const claims = read('{ "_claim_names": { "groups": "src1" } }')
  expect(['groups', 'roles', 'constructor', ['roles', 'groups']].map((one) => isLeftOut(claims, one))).toEqual([
    ...[true, false, false, true],
  ])
  expect(isLeftOut({ _claim_names: 'groups' }, 'groups')).toBe(false)
})

test('nameOf takes the first name that is no blank, as one short line', () => {
  expect(nameOf({ name: ' ', preferred_username: 'ada' }, 'sub')).toBe('ada')
  expect(nameOf({ username: 'a\nb' }, 'sub')).toBe('a b')
  expect(nameOf({ name: 7 }, 'sub')).toBe('sub')
  expect(nameOf({ name: 'x'.repeat(200) }, 'sub')).toHaveLength(100)
})
