import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { silentLog } from '../core/log.ts'
import { storageContract } from '../testing/storage-contract.ts'
import { openStorage } from './open-storage.ts'

const folder = mkdtempSync(join(tmpdir(), 'open-storage-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('the contract of stores: SQLite in a thread of its own', () => {
  const contract = storageContract({
    shared: false,
    open: ({ store, ...options }) =>
      openStorage({ folder: join(folder, store), keepDays: 7, ...options }, { log: silentLog }),
  })
  for (const clause of contract) test(clause.name, () => clause.run())
})
