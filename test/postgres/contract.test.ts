import { afterAll, beforeAll, describe, test } from 'vitest'
import { silentLog } from '../../src/core/log.ts'
import { hostStorage } from '../../src/storage/worker/host-storage.ts'
import { storageContract } from '../../src/testing/storage-contract.ts'
import { type Databases, startDatabases } from './databases.ts'

let databases: Databases
beforeAll(async () => {
  databases = await startDatabases()
}, 60_000)
afterAll(() => databases.stop(), 60_000)

describe('the contract of stores: PostgreSQL in this thread', () => {
  const urls = new Map<string, Promise<string>>()
  const urlOf = (store: string): Promise<string> => {
    const url = urls.get(store) ?? databases.create()
    urls.set(store, url)
    return url
  }
  const contract = storageContract({
    shared: true,
    open: async ({ store, ...options }) => {
      const url = await urlOf(store)
      // Given, so that a store begins without any secret.
      return hostStorage({ folder: '', url, auditKey: 'k'.repeat(32), keepDays: 7, ...options }, { log: silentLog })
    },
  })
  for (const clause of contract) test(clause.name, () => clause.run(), 60_000)
})
