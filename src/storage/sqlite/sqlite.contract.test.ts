import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { silentLog } from '../../core/log.ts'
import { knowledgeContract } from '../../testing/knowledge-contract.ts'
import { ledgerTablesContract } from '../../testing/ledger-tables-contract.ts'
import { storageContract } from '../../testing/storage-contract.ts'
import { hostStorage } from '../worker/host-storage.ts'
import { openSqliteEngine } from './sqlite-engine.ts'

const folder = mkdtempSync(join(tmpdir(), 'sqlite-contract-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('the contract of stores: SQLite in this thread', () => {
  const contract = storageContract({
    shared: false,
    open: ({ store, ...options }) =>
      hostStorage({ folder: join(folder, store), keepDays: 7, ...options }, { log: silentLog }),
  })
  for (const clause of contract) test(clause.name, () => clause.run())
})

describe('the contract of ledger tables: SQLite', () => {
  const contract = ledgerTablesContract(({ store, ...options }) =>
    openSqliteEngine({ folder: join(folder, store), keepDays: 7, ...options }, { log: silentLog }),
  )
  for (const clause of contract) test(clause.name, () => clause.run())
})

describe('the contract of knowledge: SQLite in this thread', () => {
  const contract = knowledgeContract({
    vectors: true,
    open: ({ store, ...options }) =>
      hostStorage({ folder: join(folder, store), keepDays: 7, ...options }, { log: silentLog }),
  })
  for (const clause of contract) test(clause.name, () => clause.run(), 120_000)
})
