import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { GroupedWrites } from './sqlite-knowledge.ts'

let folder: string
let database: SqliteDatabase
let writes: GroupedWrites

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'grouped-writes-'))
  database = new SqliteDatabase(folder, 1)
  database.exec('CREATE TABLE notes (text TEXT NOT NULL)')
  writes = new GroupedWrites(database)
})

afterEach(() => {
  database.close()
  rmSync(folder, { recursive: true })
})

const note = (text: string, size = 1) =>
  writes.write(size, () => {
    database.run('INSERT INTO notes VALUES (?)', text)
    return text
  })
const notes = () => database.all<{ text: string }>('SELECT text FROM notes ORDER BY rowid').map(({ text }) => text)
const refusal = () => new ToolExecutionError('INVALID_PARAMETERS', 'No')

describe('writes in groups', () => {
  it('combine the writes of one turn in one transaction, with a result for each', async () => {
    const write = vi.spyOn(database, 'write')
    expect(await Promise.all(['a', 'b', 'c'].map((text) => note(text)))).toEqual(['a', 'b', 'c'])
    expect(notes()).toEqual(['a', 'b', 'c'])
    expect(write).toHaveBeenCalledTimes(1)
  })

  it('are no larger than takes a moment, and one that is larger stands alone', async () => {
    const write = vi.spyOn(database, 'write')
    await Promise.all([1_000, 300, 100, 1, 1].map((size) => note('a', size)))
    expect(write).toHaveBeenCalledTimes(3)
  })

  it('leave nothing of one that is refused, and all of the others', async () => {
    const refused = writes.write(1, () => {
      database.run('INSERT INTO notes VALUES (?)', 'half')
      throw refusal()
    })
    const [first, second, third] = await Promise.allSettled([note('a'), refused, note('b')])
    expect([first?.status, second?.status, third?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(notes()).toEqual(['a', 'b'])
  })

  it('all fail while the file cannot be written, and work again afterwards', async () => {
    const other = new SqliteDatabase(folder)
    other.exec('BEGIN IMMEDIATE')
    const failed = await Promise.allSettled([note('a'), note('b')])
    expect(failed).toMatchObject([{ reason: { code: 'SERVICE_UNAVAILABLE' } }, { status: 'rejected' }])
    other.exec('ROLLBACK')
    other.close()
    await note('c')
    expect(notes()).toEqual(['c'])
  })

  it('are all rolled back after an unexpected error', async () => {
    const broken = writes.write(1, () => {
      throw new Error('unforeseen')
    })
    const ended = await Promise.allSettled([note('a'), broken])
    expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(notes()).toEqual([])
  })

  it('are all done when they are closed', async () => {
    const all = [500, 500, 1].map((size) => note(`${size}`, size))
    writes.close()
    expect(notes()).toEqual(['500', '500', '1'])
    await Promise.all(all)
  })
})
