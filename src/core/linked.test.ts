import { getHeapSpaceStatistics } from 'node:v8'
import { describe, expect, it } from 'vitest'
import { Linked } from './linked.ts'

describe('Linked', () => {
  it('keeps its values in order', () => {
    const list = new Linked<string>()
    const removes = ['a', 'b', 'c', 'd'].map((value) => list.add(value))
    expect([...list]).toEqual(['a', 'b', 'c', 'd'])
    for (const [index, left] of [
      [1, 'acd'],
      [3, 'ac'],
      [0, 'c'],
      [2, ''],
    ] as const) {
      removes[index]?.()
      expect([[...list].join(''), list.size]).toEqual([left, left.length])
    }
    list.add('e')
    expect([...list]).toEqual(['e'])
  })

  it('removes a value once, even if it was added twice', () => {
    const list = new Linked<string>()
    const remove = list.add('a')
    list.add('a')
    remove()
    remove()
    expect([[...list], list.size]).toEqual([['a'], 1])
  })

  it('lists what there was when it was asked, though the reader removes it', () => {
    const list = new Linked<() => void>()
    const removes: (() => void)[] = []
    const removeAll = () => {
      for (const remove of removes) remove()
    }
    for (let i = 0; i < 3; i++) removes.push(list.add(removeAll))
    let read = 0
    for (const value of list) {
      read++
      value()
    }
    expect([read, list.size]).toEqual([3, 0])
  })

  it('keeps nothing of what was removed', () => {
    const list = new Linked<object>()
    const call = () => Array.from({ length: 50 }, (_, index) => ({ index }))
    // By then the list and this value are old objects, as in a server.
    const removeOld = list.add(call())
    for (let i = 0; i < 50_000; i++) call()
    const before = oldMb()
    let mostMb = 0
    const removes: (() => void)[] = []
    for (let i = 0; i < 100_000; i++) {
      removes.push(list.add(call()))
      removeOld()
      if (removes.length > 3) removes.shift()?.()
      if (i % 1_000 === 0) mostMb = Math.max(mostMb, oldMb())
    }
    // With a Set instead: 40.
    expect(mostMb - before).toBeLessThan(20)
  })
})

const oldMb = () =>
  (getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0) / 1e6
