import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { silentLog } from '../core/log.ts'
import type { Storage } from '../core/storage/storage.ts'
import { shareKnowledge } from '../testing/knowledge/share-knowledge.ts'
import { knowledgeContract } from '../testing/knowledge-contract.ts'
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

describe('the contract of knowledge: SQLite in threads of its own', () => {
  const ways: Storage[] = []
  const open = (instance: string) =>
    openStorage({ folder: join(folder, 'knowledge'), keepDays: 7, instance }, { log: silentLog })
  beforeAll(async () => {
    ways.push(await open('one'), await open('other'))
  }, 60_000)
  afterAll(async () => {
    for (const storage of ways) await storage.close()
  })
  const contract = knowledgeContract({
    vectors: true,
    open: shareKnowledge(() => ways.map(({ knowledge }) => knowledge)),
  })
  for (const clause of contract) test(clause.name, () => clause.run(), 120_000)
})
