import { describe, expect, test } from 'vitest'
import { MemoryToolNames, NamePrefixes, ownerOf, withClaims } from './tool-names.ts'

describe('the server that a name belongs to by its prefix', () => {
  test.each([
    ['bank__transfer', ['bad', 'bank'], 'bank'],
    ['transfer', ['bad', 'bank'], undefined],
    ['bank_transfer', ['bad', 'bank'], undefined],
    ['banking__x', ['bank'], undefined],
    ['a__b__x', ['a', 'a__b'], 'a__b'],
    ['a__b__x', ['a__b', 'a'], 'a__b'],
    ['a__c__x', ['a', 'a__b'], 'a'],
    ['Bank__x', ['bank'], 'bank'],
    ['my_bank__x', ['my-bank'], 'my-bank'],
    ['my.bank:/x', ['my-bank'], 'my-bank'],
    ['ｂａｎｋ__x', ['bank'], 'bank'],
    ['a.b__x', ['a_b', 'a.b'], 'a.b'],
    ['a_b__x', ['a.b', 'a_b'], 'a_b'],
    ['constructor__x', ['constructor'], 'constructor'],
  ])('%s of %j: %s', (name, servers, owner) => {
    expect(new NamePrefixes(servers).ownerOf(name)).toBe(owner)
  })
})

describe('claims', () => {
  const owners = new Map([['transfer', ['bank']]])

  test('give free names, and leave those of configured servers', () => {
    const wanted = new Map([
      ['transfer', 'bad'],
      ['look', 'bad'],
      ['__proto__', 'bad'],
    ])
    const claimed = withClaims(owners, wanted, ['bad', 'bank'])
    expect([...claimed]).toEqual([
      ['transfer', ['bank']],
      ['look', ['bad']],
      ['__proto__', ['bad']],
    ])
  })

  test('give the names of a server that was removed or renamed, unless it is configured again', () => {
    const claimed = withClaims(owners, new Map([['transfer', 'bad']]), ['bad', 'bank2'])
    expect(ownerOf(claimed, 'transfer', ['bad', 'bank2'])).toBe('bad')
    expect(ownerOf(claimed, 'transfer', ['bad', 'bank'])).toBe('bank')
    expect(ownerOf(claimed, 'transfer', ['bank2'])).toBeUndefined()
  })

  test('change nothing if nothing is free', () => {
    expect(withClaims(owners, new Map([['transfer', 'bad']]), ['bad', 'bank'])).toBe(owners)
    expect(withClaims(owners, new Map([['transfer', 'bank']]), ['bank'])).toBe(owners)
  })

  test('stay in memory without a store', async () => {
    const names = new MemoryToolNames()
    await names.claim(new Map([['transfer', 'bank']]), ['bank'])
    expect([...(await names.read())]).toEqual([['transfer', ['bank']]])
  })
})
