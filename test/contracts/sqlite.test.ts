import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { silentLog } from '../../src/core/log.ts'
import { openSqliteEngine } from '../../src/storage/sqlite/sqlite-engine.ts'
import { hostStorage } from '../../src/storage/worker/host-storage.ts'
import { putTemplate } from '../setup/sqlite-template.ts'
import { knowledgeContract } from './knowledge-contract.ts'
import { ledgerTablesContract } from './ledger-tables-contract.ts'
import { storageContract } from './storage-contract.ts'

const folder = mkdtempSync(join(tmpdir(), 'sqlite-contract-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The folder of a store, with an empty database if it is new. */
const folderOf = (store: string): string => {
  putTemplate(join(folder, store))
  return join(folder, store)
}

describe('the contract of stores: SQLite in this thread', () => {
  const contract = storageContract({
    shared: false,
    open: ({ store, ...options }) =>
      hostStorage({ folder: folderOf(store), keepDays: 7, ...options }, { log: silentLog }),
  })
  for (const { name, run } of contract) test(name, run)
})

describe('the contract of ledger tables: SQLite', () => {
  const contract = ledgerTablesContract(({ store, ...options }) =>
    openSqliteEngine({ folder: folderOf(store), keepDays: 7, ...options }, { log: silentLog }),
  )
  for (const { name, run } of contract) test(name, run)
})

describe('the contract of knowledge: SQLite in this thread', () => {
  const contract = knowledgeContract({
    vectors: true,
    open: ({ store, ...options }) =>
      hostStorage({ folder: folderOf(store), keepDays: 7, ...options }, { log: silentLog }),
  })
  for (const { name, run } of contract) test(name, run)
})
