import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { silentLog } from '../../src/core/log.ts'
import { openSqliteEngine } from '../../src/storage/sqlite/sqlite-engine.ts'
import { hostStorage } from '../../src/storage/worker/host-storage.ts'
import { knowledgeContract } from './knowledge-contract.ts'
import { ledgerTablesContract } from './ledger-tables-contract.ts'
import { storageContract } from './storage-contract.ts'

const folder = mkdtempSync(join(tmpdir(), 'sqlite-contract-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('the contract of stores: SQLite in this thread', () => {
  const contract = storageContract({
    shared: false,
    open: ({ store, ...options }) =>
      hostStorage({ folder: join(folder, store), keepDays: 7, ...options }, { log: silentLog }),
  })
  for (const { name, run } of contract) test(name, run)
})

describe('the contract of ledger tables: SQLite', () => {
  const contract = ledgerTablesContract(({ store, ...options }) =>
    openSqliteEngine({ folder: join(folder, store), keepDays: 7, ...options }, { log: silentLog }),
  )
  for (const { name, run } of contract) test(name, run)
})

describe('the contract of knowledge: SQLite in this thread', () => {
  const contract = knowledgeContract({
    vectors: true,
    open: ({ store, ...options }) =>
      hostStorage({ folder: join(folder, store), keepDays: 7, ...options }, { log: silentLog }),
  })
  for (const { name, run } of contract) test(name, run)
})
