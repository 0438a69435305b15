import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import { chunk, EMBEDDER, textsOf, third, unit, whole } from '../fixtures/given-knowledge.ts'
import { migrate } from './migrations.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { openSqliteEngine } from './sqlite-engine.ts'
import { type SqliteKnowledge, sqliteKnowledge } from './sqlite-knowledge.ts'
import { ASKED, SqliteKnownVectors } from './sqlite-vectors.ts'

let folder: string
let database: SqliteDatabase
let knowledge: SqliteKnowledge
let log: ReturnType<typeof captureLog>

const open = () => sqliteKnowledge(database, { clock: systemClock, log })

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sqlite-knowledge-'))
  database = new SqliteDatabase(folder)
  migrate(database)
  log = captureLog()
  knowledge = open()
  await knowledge.open('acme', 'docs', EMBEDDER)
})

afterEach(() => {
  knowledge.close()
  database.close()
  rmSync(folder, { recursive: true })
})

const TABLES = ['versions', 'parts', 'labels', 'chunks', 'vectors', 'codes', 'waiting']

/** How many rows each table has, the words of the first collection with them. */
function rows(): number[] {
  const words = database.get("SELECT 1 FROM sqlite_schema WHERE name = 'knowledge_words_1'")
  const tables = [...TABLES, ...(words === undefined ? [] : ['words_1'])]
  return tables.map((table) => {
    const sql = ['SELECT count(*) AS count FROM', `knowledge_${table}`].join(' ')
    return database.get<{ count: number }>(sql)?.count ?? 0
  })
}

/** A part of 400 chunks, every other with a vector: as many as are removed at a time, twice. */
const large = (version: string, part = 0, parts = 1) =>
  whole('a', [], {
    version,
    part,
    parts,
    metadata: { a: '1', b: '2' },
    chunks: Array.from({ length: 400 }, (_, index) =>
      chunk(index, 'stone', index % 2 === 0 ? { vector: unit(1, 0, 0, 0) } : {}),
    ),
  })

const EMPTY = [0, 0, 0, 0, 0, 0, 0, 0]
const cleaned = (expected: readonly number[]) => vi.waitFor(() => expect(rows()).toEqual(expected))

describe('removed documents', () => {
  it('leave no row', async () => {
    await knowledge.put(whole('b', ['bread'], { metadata: { a: '1' } }))
    await knowledge.remove('acme', 'docs', 'b')
    expect(rows()).toEqual(EMPTY)
    await knowledge.put(third('c', '1', 0))
    await knowledge.sweep(Date.now() + 60_000)
    expect(rows()).toEqual(EMPTY)
    for (const part of [0, 1]) await knowledge.put(large('1', part, 2))
    await knowledge.put(whole('a', [], { version: '2' }))
    await cleaned([1, 1, 0, 0, 0, 0, 0, 0])
    await knowledge.put(large('3'))
    await knowledge.drop('acme', 'docs')
    await cleaned([0, 0, 0, 0, 0, 0, 0])
    expect(database.get('SELECT count(*) AS count FROM knowledge_collections')).toEqual({ count: 0 })
    expect(database.all("SELECT name FROM sqlite_schema WHERE name LIKE 'knowledge_words%'")).toEqual([])
  })

  it('are deleted in small steps', async () => {
    for (const part of [0, 1, 2]) await knowledge.put(large('1', part, 3))
    await knowledge.remove('acme', 'docs', 'a')
    const left = [rows()[3]]
    while (left.at(-1) !== 0) {
      await turn()
      left.push(rows()[3])
    }
    expect([...new Set(left)]).toEqual([800, 400, 0])
    await cleaned(EMPTY)
  })

  it('are not found during the deletion, and do not displace other hits', async () => {
    for (const part of [0, 1, 2]) await knowledge.put(large('1', part, 3))
    await knowledge.put(whole('b', [], { chunks: [chunk(0, 'stone of another', { vector: unit(1, 1, 1, 1) })] }))
    await knowledge.remove('acme', 'docs', 'a')
    expect(rows()[3]).toBeGreaterThan(1)
    expect(await textsOf(knowledge, 'stone')).toEqual(['stone of another'])
    const query = { tenant: 'acme', collection: 'docs', most: 1, vector: unit(1, 0, 0, 0) }
    expect((await knowledge.byVector(query)).map(({ text }) => text)).toEqual(['stone of another'])
  })

  it('are deleted by the next process if this one ends', async () => {
    for (const part of [0, 1, 2]) await knowledge.put(large('1', part, 3))
    await knowledge.remove('acme', 'docs', 'a')
    knowledge.close()
    await turn()
    await turn()
    expect(rows()[3]).toBe(800)
    knowledge = open()
    await cleaned(EMPTY)
  })

  it('are deleted later if the deletion fails, which is logged', async () => {
    for (const part of [0, 1]) await knowledge.put(large('1', part, 2))
    await knowledge.remove('acme', 'docs', 'a')
    const other = new SqliteDatabase(folder)
    other.exec('BEGIN IMMEDIATE')
    database.exec('PRAGMA busy_timeout = 1')
    await vi.waitFor(() => expect(log.at('warn').length).toBe(1))
    other.exec('ROLLBACK')
    other.close()
    expect(rows()[3]).toBe(400)
    knowledge.clean()
    await cleaned(EMPTY)
  })
})

describe('bounds', () => {
  it('a tenant has no more collections than it may', async () => {
    database.write(() => {
      for (let index = 1; index < 1_000; index++) {
        database.run("INSERT INTO knowledge_collections (tenant, name) VALUES ('acme', ?)", `c${index}`)
      }
    })
    await expect(knowledge.open('acme', 'one more', null)).rejects.toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: 'The tenant has 1000 collections, the maximum: remove one before you create "one more"',
    })
    await knowledge.open('acme', 'c5', null)
    await knowledge.open('other', 'one more', null)
    await knowledge.drop('acme', 'c5')
    await knowledge.open('acme', 'one more', null)
  })

  it('of known vectors the oldest go', () => {
    const known = new SqliteKnownVectors(database, 3)
    for (const hash of ['a', 'b', 'c', 'd', 'e']) known.keep('m', [{ hash, vector: unit(1, 0) }])
    expect([...known.get('m', ['a', 'b', 'c', 'd', 'e']).keys()].toSorted()).toEqual(['c', 'd', 'e'])
  })

  it('limits the prepared statements', () => {
    const first = database.statement('SELECT 0')
    expect(database.statement('SELECT 0')).toBe(first)
    for (let index = 1; index <= 300; index++) database.statement(['SELECT', index].join(' '))
    expect(database.statement('SELECT 0')).not.toBe(first)
  })
})

describe('without sqlite-vec', () => {
  const without = () =>
    openSqliteEngine(
      { folder, instance: 'one', keepDays: 7 },
      {
        log,
        extension: () => {
          throw new Error('Unsupported platform')
        },
      },
    )

  it('the store logs it once, and searches by words', async () => {
    const engine = await without()
    expect(await engine.status()).toEqual({ engine: 'sqlite', ready: true, vectors: false })
    expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'sqlite-vec cannot be loaded on this machine: collections are searched by words only'],
    ])
    await engine.knowledge.put(whole('a', ['stone']))
    expect(await textsOf(engine.knowledge, 'stone')).toEqual(['stone'])
    await engine.close()
  })

  it('a file that is no extension counts as none', () => {
    const other = new SqliteDatabase(folder, 1, () => join(folder, 'nothing.so'))
    expect(other.vectors).toBe(false)
    other.close()
  })

  it('vectors are available again once it loads, and chunks added meanwhile wait for theirs', async () => {
    const vector = unit(1, 0, 0, 0)
    await knowledge.put(whole('a', [], { chunks: [chunk(0, 'stone', { vector })] }))
    await knowledge.put(whole('b', [], { chunks: [chunk(0, 'stone', { vector })] }))
    const engine = await without()
    expect(await engine.knowledge.open('acme', 'docs', EMBEDDER)).toMatchObject({ embedder: null, without_vector: 0 })
    expect(await engine.knowledge.byVector({ tenant: 'acme', collection: 'docs', most: 5, vector })).toEqual([])
    await engine.knowledge.remove('acme', 'docs', 'a')
    await engine.knowledge.put(whole('c', ['stone']))
    await engine.close()
    expect(await knowledge.collection('acme', 'docs')).toMatchObject({ embedder: 'test:four', without_vector: 1 })
    const hits = await knowledge.byVector({ tenant: 'acme', collection: 'docs', most: 5, vector })
    expect(hits.map(({ document_id }) => document_id)).toEqual(['b'])
    expect((await knowledge.withoutVector('acme', 'docs', 5)).map(({ text }) => text)).toEqual(['stone'])
  })
})

it('finds known vectors one by one, not by going through all', () => {
  const plan = database.all<{ detail: string }>(['EXPLAIN QUERY PLAN', ASKED].join(' '), 'an embedder', '["a"]')
  expect(plan.map(({ detail }) => detail).join('\n')).toMatch(/^SEARCH known_vectors .*hash=\?/)
})
