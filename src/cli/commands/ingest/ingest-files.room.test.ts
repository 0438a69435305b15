import { expect, test } from 'vitest'
import { Room } from './ingest-files.ts'

/** Works of these sizes, each of which goes on until it is ended. */
function works(room: Room, ...sizes: number[]) {
  const running = new Set<number>()
  const all = sizes.map((size, index) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const over = room.within(size, async () => {
      running.add(index)
      await promise
      running.delete(index)
    })
    return async () => {
      resolve()
      await over
    }
  })
  const inside = async () => {
    await new Promise((resolve) => setImmediate(resolve))
    return [...running]
  }
  return { all, inside }
}

test('starts work that fits, and the rest in order', async () => {
  const { all, inside } = works(new Room(10), 4, 4, 4, 1)
  expect(await inside()).toEqual([0, 1])
  await all[0]?.()
  expect(await inside()).toEqual([1, 2, 3])
})

test('runs work that exceeds the limit alone', async () => {
  const { all, inside } = works(new Room(10), 1, 50, 1)
  expect(await inside()).toEqual([0])
  await all[0]?.()
  expect(await inside()).toEqual([1])
  await all[1]?.()
  expect(await inside()).toEqual([2])
})

test('is free again after a failure', async () => {
  const room = new Room(1)
  await expect(room.within(1, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await room.within(1, async () => 'in')).toBe('in')
})
