import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { startPostgres } from './start-postgres.ts'

test('a real PostgreSQL starts in a temporary folder, keeps a row, and leaves neither process nor file', async () => {
  const postgres = await startPostgres()
  const pid = Number.parseInt(readFileSync(join(postgres.folder, 'postmaster.pid'), 'utf8'), 10)
  const client = new pg.Client(postgres.url)
  try {
    await client.connect()
    await client.query('CREATE TABLE calls (tool text NOT NULL, params jsonb NOT NULL)')
    await client.query('INSERT INTO calls VALUES ($1, $2)', ['echo', { text: 'héllo' }])
    const { rows } = await client.query("SELECT tool, params->>'text' AS text FROM calls")
    expect(rows).toEqual([{ tool: 'echo', text: 'héllo' }])
    expect(() => process.kill(pid, 0)).not.toThrow()
  } finally {
    await client.end()
    await postgres.stop()
  }
  expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  expect(existsSync(postgres.folder)).toBe(false)
})
