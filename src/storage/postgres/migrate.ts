import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import { migrations } from './migrations.ts'
import type { PostgresDatabase, Statements } from './postgres-database.ts'

/** Long enough for a database that has much to change, and for who waits until another server has changed it. */
const LIMIT_MS = 120_000
/** Any number that nobody else in the database locks by. */
const LOCK = 7_200

/** Brings a database up to date. Of several servers that start at once one does it, and the others wait. */
export async function migrate(database: PostgresDatabase): Promise<{ readonly vectors: boolean }> {
  return database.transaction(async (statements) => {
    await statements.run('SELECT pg_advisory_xact_lock($1)', [LOCK])
    // Asked first: to create what exists needs rights that the user may not have been given.
    const { rows } = await statements.run<{ there: boolean }>("SELECT to_regnamespace('toolyard') IS NOT NULL AS there")
    if (!rows[0]?.there) await statements.run('CREATE SCHEMA toolyard')
    await statements.run(`
      CREATE TABLE IF NOT EXISTS toolyard.migrations (
        version integer PRIMARY KEY,
        applied_at timestamptz NOT NULL DEFAULT now()
      )`)
    await apply(statements)
    return { vectors: await addVectors(statements) }
  }, LIMIT_MS)
}

async function apply(statements: Statements): Promise<void> {
  const { rows } = await statements.run<{ version: number }>(
    'SELECT coalesce(max(version), 0) AS version FROM toolyard.migrations',
  )
  const version = rows[0]?.version ?? 0
  if (version > migrations.length) {
    throw new ToolExecutionError(
      'SERVICE_UNAVAILABLE',
      `The database was written by a newer version of Toolyard (its version is ${version}, this one knows up to ` +
        `${migrations.length}): use that version, or another database`,
    )
  }
  for (const [index, migration] of migrations.entries()) {
    if (index < version) continue
    await statements.run(migration)
    await statements.run('INSERT INTO toolyard.migrations (version) VALUES ($1)', [index + 1])
  }
}

const VECTOR_TABLES = `
  CREATE TABLE IF NOT EXISTS toolyard.knowledge_vectors (
    chunk bigint PRIMARY KEY REFERENCES toolyard.knowledge_chunks ON DELETE CASCADE,
    vector vector NOT NULL
  );
  -- Small, so that all of a collection are scanned quickly.
  CREATE TABLE IF NOT EXISTS toolyard.knowledge_codes (
    chunk bigint PRIMARY KEY REFERENCES toolyard.knowledge_chunks ON DELETE CASCADE,
    collection integer NOT NULL,
    code bit varying NOT NULL
  );
  CREATE INDEX IF NOT EXISTS knowledge_codes_by_collection ON toolyard.knowledge_codes (collection)`

/** Bits are counted by PostgreSQL itself since version 14. */
const COUNT_BITS = "SELECT bit_count(B'1')"

/** Whether vectors can be kept: pgvector is there already, or can be added. Everything else does without. */
async function addVectors(statements: Statements): Promise<boolean> {
  await statements.run('SAVEPOINT vectors')
  try {
    await statements.run(COUNT_BITS)
    await statements.run('CREATE EXTENSION IF NOT EXISTS vector')
    await statements.run(VECTOR_TABLES)
    return true
  } catch {
    await statements.run('ROLLBACK TO SAVEPOINT vectors')
    return false
  }
}
