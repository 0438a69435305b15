import type { SqliteDatabase } from './sqlite-database.ts'

const CREATE = `
  CREATE TABLE audit (
    chain INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at REAL NOT NULL,
    tenant TEXT NOT NULL,
    caller TEXT,
    source TEXT,
    run_id TEXT,
    tool TEXT NOT NULL,
    model TEXT,
    schema_hash TEXT,
    params_hash TEXT,
    outcome TEXT NOT NULL,
    code TEXT,
    duration_ms REAL NOT NULL,
    attempts INTEGER NOT NULL,
    hash TEXT NOT NULL
  ) STRICT`

const INSERT = `
  INSERT INTO audit (chain, seq, at, tenant, caller, source, run_id, tool, schema_hash, outcome, code, attempts,
    duration_ms, params_hash, hash)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const FINISH = `
  ALTER TABLE once ADD COLUMN claim TEXT;
  DROP TABLE audit_blocks;
  DROP TABLE audit_tenants;
  DROP TABLE audit_runs;
  CREATE UNIQUE INDEX audit_by_chain ON audit (chain, seq);
  CREATE INDEX audit_by_tenant ON audit (tenant, at, chain, seq);
  CREATE INDEX audit_by_time ON audit (at, chain, seq);
  CREATE INDEX audit_by_run ON audit (run_id, at, chain, seq) WHERE run_id IS NOT NULL;
  CREATE VIEW audit_log AS
    SELECT chains.name || ':' || seq AS id, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000, 'unixepoch') AS time, at, tenant,
      caller, source, run_id, tool, model, schema_hash, params_hash, outcome, code AS error_code, duration_ms, attempts,
      hash
    FROM audit JOIN chains ON chains.id = audit.chain`

interface Block {
  readonly id: number
  readonly chain: number
  readonly fromSeq: number
  readonly rows: string
}

/** The rows of a block, column by column; `alike` holds the values that several rows share, `kind` which of them. */
interface Columns {
  readonly alike: readonly (readonly (string | number | null)[])[]
  readonly kind: readonly number[]
  readonly at: readonly number[]
  readonly duration_ms: readonly number[]
  readonly params_hash: readonly (string | null)[]
  readonly hash: readonly string[]
}

/** Writes the blocks of `auditBlocksMigration` as one row per call. */
export function auditRowsMigration(database: SqliteDatabase): void {
  database.exec(CREATE)
  const insert = database.statement(INSERT)
  for (let block = nextBlock(database, 0); block !== undefined; block = nextBlock(database, block.id)) {
    const { chain, fromSeq, rows } = block
    let columns: Columns
    try {
      columns = JSON.parse(rows)
    } catch {
      // Somebody damaged the block: its rows are missing from the chain, and `audit verify` reports them.
      continue
    }
    for (const [index, kind] of columns.kind.entries()) {
      insert.run(
        chain,
        fromSeq + index,
        columns.at[index] as number,
        ...(columns.alike[kind] as (string | number | null)[]),
        columns.duration_ms[index] as number,
        columns.params_hash[index] as string | null,
        columns.hash[index] as string,
      )
    }
  }
  database.exec(FINISH)
}

const nextBlock = (database: SqliteDatabase, after: number): Block | undefined =>
  database.get<Block>(
    'SELECT id, chain, from_seq AS fromSeq, rows FROM audit_blocks WHERE id > ? ORDER BY id LIMIT 1',
    after,
  )
