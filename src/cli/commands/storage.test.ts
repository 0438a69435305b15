import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { silentLog } from '../../core/log.ts'
import { backupStorage } from '../../storage/backup-storage.ts'
import { call } from '../../storage/fixtures/call-entry.ts'
import { openStorage } from '../../storage/open-storage.ts'
import { olderLayout } from '../../storage/sqlite/fixtures/older-layout.ts'
import { toolyard } from '../fixtures/toolyard.ts'

const root = mkdtempSync(join(tmpdir(), 'backup-'))
afterAll(() => rmSync(root, { recursive: true }))

const open = (folder: string) => openStorage({ folder, instance: 'reader', keepDays: 7 }, { log: silentLog })
const data = join(root, 'data')

/** A stopped store with one row, and its backup. */
beforeAll(async () => {
  const storage = await open(data)
  await storage.ledger.append([call()], [])
  await storage.close()
  await backupStorage({ from: data, to: join(root, 'backup') })
})

test('a backup under write load has every acknowledged row, and its audit log verifies', {
  timeout: 120_000,
}, async () => {
  const folder = join(root, 'busy')
  const path = new URL('../../storage/worker/fixtures/appender.ts', import.meta.url).pathname
  const writer = spawn(process.execPath, [path, folder, 'writer'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface({ input: writer.stdout })
  let acknowledged = 0
  lines.on('line', () => acknowledged++)
  const written = (count: number) => expect.poll(() => acknowledged, { timeout: 60_000 }).toBeGreaterThan(count)
  try {
    await written(10)
    for (const name of ['one', 'two', 'three']) {
      const before = acknowledged
      const report = await backupStorage({ from: folder, to: join(root, name) })
      expect(report).toMatchObject({ chains: 1, faults: [] })
      expect(report.rows).toBeGreaterThanOrEqual(before * 20)
      // The writer goes on.
      await written(acknowledged)
    }
  } finally {
    const ended = once(writer, 'exit')
    writer.kill('SIGKILL')
    await ended
  }
  const restored = join(root, 'restored')
  await backupStorage({ from: join(root, 'three'), to: restored })
  const storage = await open(restored)
  expect((await storage.ledger.verify()).faults).toEqual([])
  await storage.close()
})

test('a backup is a data folder with the database and the key, readable by its owner only', () => {
  const folder = join(root, 'backup')
  expect(readdirSync(folder).sort()).toEqual(['audit.key', 'toolyard.db'])
  expect(readFileSync(join(folder, 'audit.key'), 'utf8')).toBe(readFileSync(join(data, 'audit.key'), 'utf8'))
  expect(statSync(folder).mode & 0o077).toBe(0)
  for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o077).toBe(0)
})

test('toolyard backup and restore copy the store and verify the audit log', async () => {
  const to = join(root, 'by-command')
  const made = await toolyard(['backup', to], { env: { TOOLYARD_DATA: data } })
  expect(made).toMatchObject({ code: 0, out: `Backed up ${data} to ${to}.\n` })
  expect(made.err).toBe('The audit log of the target is intact: 1 row in 1 chain, 1 seal.\n')
  const again = join(root, 'again')
  const restored = await toolyard(['restore', to, '--json'], { env: { TOOLYARD_DATA: again } })
  expect(JSON.parse(restored.out)).toMatchObject({ ok: true, from: to, to: again, audit: { rows: 1, faults: [] } })
})

test('restore refuses a data folder that has a store, and one that has another key', async () => {
  const env = { TOOLYARD_DATA: data }
  const used = await toolyard(['restore', join(root, 'backup')], { env })
  expect(used).toMatchObject({ code: 1, err: `The folder ${data} already has a store: use another folder\n` })
  const other = mkdtempSync(join(root, 'other-'))
  writeFileSync(join(other, 'audit.key'), 'a'.repeat(64))
  await expect(backupStorage({ from: join(root, 'backup'), to: other })).rejects.toThrow('has another audit.key')
  expect(readdirSync(other)).toEqual(['audit.key'])
})

/** A backup whose database was changed. */
async function changed(name: string, ...statements: string[]): Promise<string> {
  const folder = join(root, name)
  await backupStorage({ from: data, to: folder })
  const database = new DatabaseSync(join(folder, 'toolyard.db'))
  for (const sql of statements) database.exec(sql)
  database.close()
  return folder
}

test('restore refuses a backup of a newer version and leaves nothing behind', async () => {
  const from = await changed('newer', 'PRAGMA user_version = 99')
  const to = mkdtempSync(join(root, 'empty-'))
  await expect(backupStorage({ from, to })).rejects.toThrow('its version is 99')
  expect(readdirSync(to)).toEqual([])
})

test('restore reports an audit log that somebody changed', async () => {
  const from = await changed('tampered', "UPDATE audit SET tool = 'another'")
  const { code, err } = await toolyard(['restore', from], { env: { TOOLYARD_DATA: join(root, 'reported') } })
  expect(code).toBe(1)
  expect(err).toContain('The audit log is not intact')
})

test('a backup keeps the version that its store has', async () => {
  const from = await changed('older', olderLayout(9))
  const to = join(root, 'kept')
  expect(await backupStorage({ from, to })).toMatchObject({ rows: 1, faults: [] })
  const database = new DatabaseSync(join(to, 'toolyard.db'))
  expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 9 })
  database.close()
})

test('with TOOLYARD_AUDIT_KEY the key stays out of the backup', async () => {
  const to = join(root, 'keyless')
  await backupStorage({ from: data, to, auditKey: readFileSync(join(data, 'audit.key'), 'utf8').trim() })
  expect(existsSync(join(to, 'audit.key'))).toBe(false)
  await expect(backupStorage({ from: to, to: join(root, 'never') })).rejects.toThrow('There is no audit.key in')
})

test('backup names pg_dump when the store is in PostgreSQL', async () => {
  const env = { TOOLYARD_DATABASE_URL: 'postgres://app:secret@db/toolyard' }
  const { code, err } = await toolyard(['backup', join(root, 'pg')], { env })
  expect(code).toBe(2)
  expect(err).toContain('pg_dump')
  expect(err).not.toContain('secret')
})
