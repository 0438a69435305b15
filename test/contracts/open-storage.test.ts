import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { silentLog } from '../../src/core/log.ts'
import { openStorage } from '../../src/storage/fixtures/open-storage-thread.ts'
import type { Storage } from '../../src/storage/sql/engine.ts'
import { FULL, someOf } from '../setup/full.ts'
import { shareKnowledge } from './knowledge/share-knowledge.ts'
import { knowledgeContract } from './knowledge-contract.ts'
import { storageContract } from './storage-contract.ts'

const folder = mkdtempSync(join(tmpdir(), 'open-storage-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('the contract of stores: SQLite in a thread of its own', () => {
  const contract = storageContract({
    shared: false,
    open: ({ store, ...options }) =>
      openStorage({ folder: join(folder, store), keepDays: 7, ...options }, { log: silentLog }),
  })
  for (const { name, run } of someOf(contract, 8)) test(name, run)
})

describe('the contract of knowledge: SQLite in threads of its own', () => {
  const ways: Storage[] = []
  const open = (instance: string) =>
    openStorage({ folder: join(folder, 'knowledge'), keepDays: 7, instance }, { log: silentLog })
  beforeAll(async () => {
    ways.push(await open('one'), await open('other'))
  })
  afterAll(async () => {
    for (const storage of ways) await storage.close()
  })
  const contract = knowledgeContract({
    vectors: true,
    open: shareKnowledge(() => ways.map(({ knowledge }) => knowledge)),
  })
  // The last clause puts thousands of vectors.
  for (const { name, run } of someOf(contract.slice(0, FULL ? undefined : -1), 8)) test(name, run)
})
