import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { silentLog } from '../../src/core/log.ts'
import { openStorage } from '../../src/storage/fixtures/open-storage-thread.ts'
import { hostStorage } from '../../src/storage/worker/host-storage.ts'
import { storageContract } from '../contracts/storage-contract.ts'
import { someOf } from '../setup/full.ts'
import { clear, type Databases, startDatabases } from './databases.ts'

let databases: Databases
beforeAll(async () => {
  databases = await startDatabases()
})
afterAll(() => databases.stop())

describe('the contract of stores: PostgreSQL in this thread', () => {
  let url: string
  let last: string | undefined
  let ready: Promise<void>
  beforeAll(async () => {
    url = await databases.create()
  })
  // One clause runs after the other, and each has a store of its own: an empty database.
  const clearFor = (store: string): Promise<void> => {
    if (store !== last) ready = clear(url)
    last = store
    return ready
  }
  const contract = storageContract({
    shared: true,
    open: async ({ store, ...options }) => {
      await clearFor(store)
      // Given, so that a store begins without any secret.
      return hostStorage({ folder: '', url, auditKey: 'k'.repeat(32), keepDays: 7, ...options }, { log: silentLog })
    },
  })
  for (const clause of someOf(contract, 4)) test(clause.name, () => clause.run())
})

test('it works in a thread of its own', async () => {
  const url = await databases.create()
  const options = { folder: '', url, keepDays: 7 }
  const one = await openStorage({ ...options, instance: 'one' }, { log: silentLog })
  const other = await openStorage({ ...options, instance: 'other' }, { log: silentLog })
  try {
    const heard = new Promise<string>((resolve) => void other.onChange(resolve))
    await one.settings.put({ kind: 'limits', name: 'a', value: { calls: 1 } })
    expect(await heard).toBe('settings')
    expect(await other.settings.list('limits')).toEqual([{ kind: 'limits', name: 'a', value: { calls: 1 } }])
    expect(await one.leases?.lease([{ key: 'k', calls: 10, perMs: 1_000, want: 4 }])).toEqual([4])
    expect(await one.leases?.company()).toMatchObject({ servers: expect.any(Number) })
    await expect(one.settings.put({ kind: 'limits', name: 'a\0b', value: 1 })).rejects.toMatchObject({
      code: 'INVALID_PARAMETERS',
    })
  } finally {
    await one.close()
    await other.close()
  }
})
