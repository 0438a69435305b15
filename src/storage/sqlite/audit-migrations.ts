import type { SqliteDatabase } from './sqlite-database.ts'

/**
 * Rows of the audit in blocks, as they were written: one for each batch of calls. `first_at` and `last_at` bound the
 * times of its rows; whose rows are in it, and of which runs, stands beside it.
 */
export const auditBlocksMigration = `
  CREATE TABLE audit_blocks (
    id INTEGER PRIMARY KEY,
    chain INTEGER NOT NULL,
    from_seq INTEGER NOT NULL,
    to_seq INTEGER NOT NULL,
    first_at REAL NOT NULL,
    last_at REAL NOT NULL,
    rows TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX audit_blocks_by_chain ON audit_blocks (chain, from_seq);
  CREATE INDEX audit_blocks_by_time ON audit_blocks (last_at, id, first_at);
  CREATE TABLE audit_tenants (
    tenant TEXT NOT NULL,
    last_at REAL NOT NULL,
    first_at REAL NOT NULL,
    block INTEGER NOT NULL,
    PRIMARY KEY (tenant, last_at, block)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE audit_runs (
    run_id TEXT NOT NULL,
    block INTEGER NOT NULL,
    PRIMARY KEY (run_id, block)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO audit_blocks (chain, from_seq, to_seq, first_at, last_at, rows)
    SELECT chain, seq, seq, at, at, json_object(
      'alike', json_array(
        json_array(tenant, caller, source, run_id, tool, schema_hash, outcome, code, attempts)),
      'kind', json_array(0), 'at', json_array(at), 'duration_ms', json_array(duration_ms),
      'params_hash', json_array(params_hash), 'hash', json_array(hash))
    FROM audit ORDER BY chain, seq;
  INSERT INTO audit_tenants (tenant, last_at, first_at, block)
    SELECT tenant, at, at, id FROM audit JOIN audit_blocks ON audit_blocks.chain = audit.chain AND from_seq = seq;
  INSERT INTO audit_runs (run_id, block)
    SELECT run_id, id FROM audit JOIN audit_blocks ON audit_blocks.chain = audit.chain AND from_seq = seq
    WHERE run_id IS NOT NULL;
  DROP TABLE audit;
  CREATE INDEX audit_tenants_by_block ON audit_tenants (block);
  CREATE INDEX audit_runs_by_block ON audit_runs (block);
`

const CREATE = `
  CREATE TABLE audit (
    chain INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
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
    hash TEXT NOT NULL,
    PRIMARY KEY (chain, seq)
  ) STRICT, WITHOUT ROWID`

const INSERT = `
  INSERT INTO audit (chain, seq, at, tenant, caller, source, run_id, tool, schema_hash, outcome, code, attempts,
    duration_ms, params_hash, hash)
  VALUES (?, ?, CAST(? AS INTEGER), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const FINISH = `
  ALTER TABLE once ADD COLUMN claim TEXT;
  DROP TABLE audit_blocks;
  DROP TABLE audit_tenants;
  DROP TABLE audit_runs;
  CREATE INDEX audit_by_tenant ON audit (tenant, at, chain, seq);
  CREATE INDEX audit_by_time ON audit (at, chain, seq);
  CREATE INDEX audit_by_run ON audit (run_id, at, chain, seq) WHERE run_id IS NOT NULL;
  CREATE VIEW audit_log AS
    SELECT chains.name || ':' || seq AS id, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS time, at, tenant,
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
