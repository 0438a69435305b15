import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { TABLES } from './sql-stores.ts'
import { columnTypes, type EngineName, sharedSteps, type Table } from './table.ts'

const notes: Table = {
  name: 'notes',
  since: 9,
  columns: {
    id: 'serial',
    tenant: 'id',
    title: { type: 'text', default: "it's" },
    hash: { type: 'id', unique: true },
    size: 'bigint?',
    seen: { type: 'flag', default: 0, since: 10 },
  },
  key: 'id',
  indexes: {
    notes_by_tenant: 'tenant, id',
    notes_large: { on: 'tenant', where: 'size > 100' },
    notes_titles: { on: 'tenant', include: 'title', unique: true, since: 10 },
  },
  large: true,
  steps: {
    10: {
      before: 'DROP TABLE IF EXISTS toolyard.drafts',
      after: { sqlite: 'UPDATE notes SET seen = 1', postgres: 'UPDATE toolyard.notes SET seen = 2' },
    },
  },
}
const tags: Table = { name: 'tags', since: 10, columns: { note: 'bigint', tag: 'id' }, key: 'note, tag' }

test('one description gives the steps of SQLite', () => {
  expect(sharedSteps('sqlite', [notes, tags])).toEqual([
    '',
    `CREATE TABLE notes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL,
  title TEXT NOT NULL DEFAULT 'it''s',
  hash TEXT NOT NULL UNIQUE,
  size INTEGER
) STRICT;
CREATE INDEX notes_by_tenant ON notes (tenant, id);
CREATE INDEX notes_large ON notes (tenant) WHERE size > 100`,
    `DROP TABLE IF EXISTS drafts;
ALTER TABLE notes ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX notes_titles ON notes (tenant, title);
CREATE TABLE tags (
  note INTEGER NOT NULL,
  tag TEXT NOT NULL,
  PRIMARY KEY (note, tag)
) STRICT, WITHOUT ROWID;
UPDATE notes SET seen = 1`,
  ])
})

test('the same description gives the steps of PostgreSQL', () => {
  const [, created, changed] = sharedSteps('postgres', [notes, tags])
  expect(created).toBe(`CREATE TABLE toolyard.notes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  title text NOT NULL DEFAULT 'it''s',
  hash text COLLATE "C" NOT NULL UNIQUE,
  size bigint
);
CREATE INDEX notes_by_tenant ON toolyard.notes (tenant, id);
CREATE INDEX notes_large ON toolyard.notes (tenant) WHERE size > 100`)
  expect(changed).toContain('CREATE UNIQUE INDEX notes_titles ON toolyard.notes (tenant) INCLUDE (title);')
  expect(changed).toMatch(/UPDATE toolyard.notes SET seen = 2$/)
  expect(columnTypes(tags)).toEqual({ note: 'bigint', tag: 'text' })
})

/** The order of tables in the list of stores doesn't matter. */
function hashOf(engine: EngineName, steps: number): string {
  const released = sharedSteps(engine, TABLES).slice(0, steps)
  const parts = released.map((sql) => sql.replaceAll(/\s+/g, ' ').split(/ ?; ?/).sort())
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}

test.each([
  ['sqlite', '836c183676cdb81a'],
  ['postgres', '42df3950d3f3d61c'],
] as const)('the steps of %s up to version 27 never change', (engine, hash) => {
  expect(hashOf(engine, 20)).toBe(hash)
})
