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
