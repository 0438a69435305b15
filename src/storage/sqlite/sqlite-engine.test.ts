import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import type { StoredKey } from '../../core/storage/key-store.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import type { Engine } from '../sql/engine.ts'
import { migrate, VERSION } from './migrations.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { openSqliteEngine, sqliteEngine } from './sqlite-engine.ts'

const root = mkdtempSync(join(tmpdir(), 'sqlite-engine-'))
afterAll(() => rmSync(root, { recursive: true }))

let folder: string
let opened: { close(): unknown }[]

beforeEach(() => {
  folder = join(mkdtempSync(join(root, 'x-')), 'not', 'there', 'yet')
  opened = []
})

afterEach(async () => {
  for (const each of opened) await each.close()
})

const KEY: StoredKey = {
  id: 'key',
  hash: '',
  tenant: 'acme',
  name: 'ci',
  role: 'user',
  scopes: null,
  calls_per_minute: null,
  tools: null,
  models: null,
  created_at: '2026-01-01T00:00:00.000Z',
  expires_at: null,
  revoked_at: null,
  created_by: null,
}

const options = (instance = 'one') => ({ folder, instance, keepDays: 7 })

async function open(instance = 'one'): Promise<Engine> {
  const engine = await openSqliteEngine(options(instance), { log: silentLog })
  opened.push(engine)
  return engine
}

/** Somebody else who has the file open. */
function stranger(): DatabaseSync {
  const database = new DatabaseSync(join(folder, 'toolyard.db'))
  opened.push({ close: () => database.isOpen && database.close() })
  return database
}

describe('the file', () => {
  it('is made with its folder, for the owner only', async () => {
    await open()
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    const files = readdirSync(folder)
    expect(files.toSorted()).toEqual(['toolyard.db', 'toolyard.db-shm', 'toolyard.db-wal', 'toolyard.reserve'])
    for (const file of files) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600)
  })

  it('has every write on the disk before it is acknowledged', () => {
    const database = new SqliteDatabase(folder)
    opened.push(database)
    expect(database.get('PRAGMA journal_mode')).toEqual({ journal_mode: 'wal' })
    expect(database.get('PRAGMA synchronous')).toEqual({ synchronous: 2 })
  })

  // Without the lock, an older SQLite that closes the file removes the write-ahead log under our feet.
  it.runIf(existsSync('/proc/locks'))('stays locked when it is opened a second time in this process', () => {
    const locks = () => {
      const inode = statSync(join(folder, 'toolyard.db')).ino
      return readFileSync('/proc/locks', 'utf8').match(new RegExp(` ${process.pid} [^ ]+:${inode} `, 'g'))
    }
    const first = new SqliteDatabase(folder)
    first.exec('CREATE TABLE seen (n)')
    opened.push(first)
    const held = locks()
    opened.push(new SqliteDatabase(folder))
    expect(locks()).toEqual(held)
  })

  it('is used by several processes that make it at once', async () => {
    const opener = new URL('../worker/fixtures/opener.ts', import.meta.url).pathname
    const run = () => promisify(execFile)(process.execPath, [opener, folder, 'closed'], { timeout: 30_000 })
    await Promise.all(Array.from({ length: 5 }, run))
    const engine = await open()
    expect((await engine.settings.list('pin')).length).toBe(5)
  })

  it('of a newer version is refused, and left alone', async () => {
    const newer = VERSION + 1
    const first = await openSqliteEngine(options(), { log: silentLog })
    await first.close()
    const database = stranger()
    database.exec(['PRAGMA user_version =', newer].join(' '))
    await expect(open()).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message:
        `toolyard.db was written by a newer version of Toolyard (its version is ${newer}, this one knows up to ` +
        `${VERSION}): use that version, or another data folder`,
    })
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: newer })
  })

  it('is unchanged after a failed migration', () => {
    const database = new SqliteDatabase(folder)
    opened.push(database)
    database.exec('CREATE TABLE seals (taken TEXT)')
    expect(() => migrate(database)).toThrow()
    expect(database.all('SELECT name FROM sqlite_schema')).toEqual([{ name: 'seals' }])
    expect(database.get('PRAGMA user_version')).toEqual({ user_version: 0 })
  })
})

describe('a file that cannot be used', () => {
  it('is reported as not a database', async () => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'toolyard.db'), 'no database at all'.repeat(1_000))
    await expect(open()).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: 'toolyard.db is not a database: restore a backup, or move it away to start with an empty store',
    })
  })

  it('is reported as damaged', async () => {
    const first = await openSqliteEngine(options(), { log: silentLog })
    for (let index = 0; index < 200; index++) {
      await first.settings.put({ kind: 'pin', name: `${index}`, value: 'x'.repeat(500) })
    }
    await first.close()
    const path = join(folder, 'toolyard.db')
    const database = new DatabaseSync(path)
    const { page } = database.prepare("SELECT rootpage AS page FROM sqlite_schema WHERE name = 'settings'").get() as {
      page: number
    }
    database.close()
    const bytes = readFileSync(path)
    bytes.fill(0xff, (page - 1) * 4_096, page * 4_096)
    writeFileSync(path, bytes)
    const engine = await open()
    await expect(engine.settings.list('pin')).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: 'toolyard.db is damaged: restore a backup, or move it away to start with an empty store',
    })
    expect(await engine.keys.list()).toEqual([])
  })

  it('is reported as locked, and used again when it is free', async () => {
    const database = new SqliteDatabase(folder, 20)
    migrate(database)
    const log = captureLog()
    const engine = sqliteEngine(database, options(), { log, clock: systemClock })
    opened.push(engine)
    const other = stranger()
    other.exec('BEGIN IMMEDIATE')
    const problem = 'toolyard.db is locked by another process: stop that process, or wait for it'
    await expect(engine.settings.put({ kind: 'pin', name: 'a', value: 1 })).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: problem,
    })
    expect(await engine.status()).toEqual({ engine: 'sqlite', ready: false, problem, vectors: true })
    expect(await engine.settings.list('pin')).toEqual([])
    other.exec('ROLLBACK')
    await engine.settings.put({ kind: 'pin', name: 'a', value: 1 })
    expect((await engine.status()).ready).toBe(true)
  })
})

describe('a transaction', () => {
  it('takes the write lock at its start', () => {
    const database = new SqliteDatabase(folder, 20)
    opened.push(database)
    migrate(database)
    stranger().exec('BEGIN IMMEDIATE')
    let begun = false
    const write = () =>
      database.write(() => {
        begun = true
      })
    expect(write).toThrow('toolyard.db is locked by another process')
    expect(begun).toBe(false)
  })
})

describe('a disk that is full', () => {
  it('is reported, loses no written data, and the store works again when there is space', async () => {
    const database = new SqliteDatabase(folder)
    migrate(database)
    const engine = sqliteEngine(database, options(), { log: silentLog, clock: systemClock })
    opened.push(engine)
    const value = 'x'.repeat(20_000)
    await engine.settings.put({ kind: 'pin', name: 'before', value })
    const { page_count: pages } = database.get<{ page_count: number }>('PRAGMA page_count') ?? { page_count: 0 }
    // To SQLite a file that may not grow is a disk that is full.
    database.exec(['PRAGMA max_page_count =', pages].join(' '))
    const problem = 'toolyard.db cannot grow because the disk of the data folder is full: free some space'
    for (const _ of [1, 2]) {
      await expect(engine.settings.put({ kind: 'pin', name: 'after', value })).rejects.toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
        message: problem,
      })
    }
    expect((await engine.settings.list('pin')).map(({ name }) => name)).toEqual(['before'])
    database.exec(['PRAGMA max_page_count =', pages + 1_000].join(' '))
    await engine.settings.put({ kind: 'pin', name: 'after', value })
    expect((await engine.settings.list('pin')).map(({ name }) => name)).toEqual(['after', 'before'])
  })

  it('revokes keys all the same, for good', async () => {
    const database = new SqliteDatabase(folder)
    migrate(database)
    const engine = sqliteEngine(database, options(), { log: silentLog, clock: systemClock })
    opened.push(engine)
    const keys = Array.from({ length: 60 }, (_, n) => ({ ...KEY, id: `key-${n}`, hash: `${n}`.padStart(64, '0') }))
    for (const key of keys) await engine.keys.create(key)
    const { page_count: pages } = database.get<{ page_count: number }>('PRAGMA page_count') ?? { page_count: 0 }
    database.exec(['PRAGMA max_page_count =', pages].join(' '))
    const fill = async () => {
      for (let n = 0; ; n++) await engine.settings.put({ kind: 'pin', name: `fill-${n}`, value: 'x'.repeat(1_000) })
    }
    await expect(fill()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    let told = 0
    engine.onChange((change) => {
      if (change === 'keys') told++
    })
    for (const { id } of keys) expect(await engine.keys.revoke(id, '2026-01-01T00:00:00.000Z')).toBe(true)
    expect(told).toBe(60)
    await engine.close()
    const after = await openSqliteEngine(options(), { log: silentLog })
    opened.push(after)
    expect((await after.keys.list()).filter(({ revoked_at }) => revoked_at === null)).toEqual([])
    // The reserve is there again.
    expect(statSync(join(folder, 'toolyard.reserve')).size).toBe(262_144)
  })

  it('is reported while a small write still succeeds', async () => {
    const database = new SqliteDatabase(folder)
    migrate(database)
    const engine = sqliteEngine(database, options(), { log: silentLog, clock: systemClock })
    opened.push(engine)
    expect(database.freeBytes()).toBeGreaterThan(0)
    expect((await engine.status()).ready).toBe(true)
    database.freeBytes = () => 1_000_000
    const problem = 'The disk of the data folder has less than 16 MB left: free some space'
    expect(await engine.status()).toEqual({ engine: 'sqlite', ready: false, problem, vectors: true })
  })
})
