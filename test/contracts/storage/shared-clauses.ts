import assert from 'node:assert/strict'
import type { LeaseStore } from '../../../src/core/storage/lease-store.ts'
import type { Storage } from '../../../src/storage/sql/engine.ts'
import { type Clauses, until } from './contract-store.ts'

const leasesOf = ({ leases }: Storage): LeaseStore => leases as LeaseStore
const serversOf = async (storage: Storage): Promise<number> => (await leasesOf(storage).company()).servers

const limit = (want: number, more: { key?: string; calls?: number } = {}) => ({
  key: 'key-1',
  calls: 100,
  perMs: 60_000,
  want,
  ...more,
})

/** What holds where several machines share a store. */
export const sharedClauses: Clauses = {
  'leases: the parts of all instances together are never more than the limit': async (store) => {
    const [one, other] = await store.openTwo()
    assert.deepEqual(await leasesOf(one).lease([limit(60)]), [60])
    const [rest] = await leasesOf(other).lease([limit(60)])
    assert.ok((rest as number) <= 40, `${rest} of 40`)
    assert.deepEqual(await leasesOf(one).lease([limit(60)]), [60])
  },

  'leases: many at once get no more than there is': async (store) => {
    const both = await store.openTwo()
    const given = await Promise.all(both.map((each) => leasesOf(each).lease([limit(80), limit(80, { key: 'key-2' })])))
    for (const index of [0, 1]) {
      const sum = given.reduce((total, parts) => total + (parts[index] as number), 0)
      assert.ok(sum <= 100, `${sum} of 100`)
    }
  },

  'leases: they are given in the order asked for, each limit by itself': async (store) => {
    const storage = await store.open()
    const asked = [limit(10), limit(5, { key: 'b', calls: 5 }), limit(1, { key: 'c' })]
    assert.deepEqual(await leasesOf(storage).lease(asked), [10, 5, 1])
    assert.deepEqual(await leasesOf(storage).lease([]), [])
  },

  'leases: one that is asked for more than the limit is not given more': async (store) => {
    const storage = await store.open()
    const [part] = await leasesOf(storage).lease([limit(500)])
    assert.ok((part as number) <= 100)
  },

  'leases: instances know how many they are': async (store) => {
    const one = await store.open({ aliveMs: 1_000 })
    assert.equal(await serversOf(one), 1)
    const other = await store.open({ aliveMs: 1_000 })
    await until('two that know of each other', async () => (await serversOf(one)) === 2)
    await other.close()
    await until('one that knows it is alone', async () => (await serversOf(one)) === 1)
  },
}
