import { auditBlocksMigration } from './audit-blocks-migration.ts'
import { auditRowsMigration } from './audit-rows-migration.ts'
import { knowledgeMigration } from './knowledge/knowledge-migration.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { toolUseMigration } from './tool-use-migration.ts'

/**
 * What makes a database of version n one of version n + 1, in order. One that has been released is never changed.
 *
 * Times are milliseconds since 1970, or ISO 8601 text where the port says so. Names of chains are long and stand in
 * every index of the audit, so that they are kept once and numbered.
 */
export const migrations: readonly (string | ((database: SqliteDatabase) => void))[] = [
  `
  CREATE TABLE instances (
    instance TEXT PRIMARY KEY,
    seen_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE changes (
    topic TEXT PRIMARY KEY,
    version INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    scopes TEXT,
    calls_per_minute REAL,
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT
  ) STRICT;

  CREATE TABLE settings (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (kind, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE validations (
    tenant TEXT NOT NULL,
    model_id TEXT NOT NULL,
    test_count INTEGER NOT NULL,
    success_count INTEGER NOT NULL,
    test_history TEXT NOT NULL,
    PRIMARY KEY (tenant, model_id)
  ) STRICT;

  CREATE TABLE once (
    tenant TEXT NOT NULL,
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    instance TEXT NOT NULL,
    expires_at REAL NOT NULL,
    result TEXT,
    PRIMARY KEY (tenant, caller, key)
  ) STRICT;
  CREATE INDEX once_by_expiry ON once (expires_at);

  CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    caller TEXT,
    tool TEXT NOT NULL,
    params TEXT NOT NULL,
    timeout_ms REAL NOT NULL,
    state TEXT NOT NULL,
    created_at TEXT NOT NULL,
    started_at TEXT,
    ended_at TEXT,
    progress TEXT,
    result TEXT,
    server TEXT,
    attempts INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX jobs_by_tenant ON jobs (tenant, created_at, id);
  CREATE INDEX jobs_to_do ON jobs (created_at, id) WHERE state IN ('queued', 'running');
  CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;

  CREATE TABLE runs (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    caller TEXT,
    model TEXT NOT NULL,
    service TEXT NOT NULL,
    started_at TEXT NOT NULL,
    duration_ms REAL NOT NULL,
    stop_reason TEXT NOT NULL,
    iterations INTEGER NOT NULL,
    tool_calls INTEGER NOT NULL,
    prompt_tokens REAL NOT NULL,
    completion_tokens REAL NOT NULL,
    cost REAL,
    error TEXT,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    steps TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
  ) STRICT;
  CREATE INDEX runs_by_tenant ON runs (tenant, started_at, id);
  CREATE INDEX runs_by_time ON runs (started_at);

  CREATE TABLE chains (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
  ) STRICT;

  CREATE TABLE audit (
    chain INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at REAL NOT NULL,
    tenant TEXT NOT NULL,
    caller TEXT,
    source TEXT,
    run_id TEXT,
    tool TEXT NOT NULL,
    schema_hash TEXT,
    params_hash TEXT,
    outcome TEXT NOT NULL,
    code TEXT,
    duration_ms REAL NOT NULL,
    attempts INTEGER NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (chain, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX audit_by_tenant ON audit (tenant, at, chain, seq);
  CREATE INDEX audit_by_time ON audit (at, chain, seq);
  CREATE INDEX audit_by_run ON audit (run_id, at, chain, seq) WHERE run_id IS NOT NULL;

  CREATE TABLE seals (
    chain INTEGER NOT NULL,
    from_seq INTEGER NOT NULL,
    to_seq INTEGER NOT NULL,
    before_hash TEXT NOT NULL,
    last_hash TEXT NOT NULL,
    first_at REAL NOT NULL,
    last_at REAL NOT NULL,
    sealed_at REAL NOT NULL,
    mac TEXT NOT NULL,
    expired_at REAL,
    PRIMARY KEY (chain, from_seq)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX seals_to_expire ON seals (last_at) WHERE expired_at IS NULL;

  CREATE TABLE cells (
    width TEXT NOT NULL,
    kind TEXT NOT NULL,
    tenant TEXT NOT NULL,
    start REAL NOT NULL,
    tool TEXT NOT NULL,
    model TEXT NOT NULL,
    instance TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (width, kind, tenant, start, tool, model, instance)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX cells_by_time ON cells (width, start, kind, tenant);
  `,
  knowledgeMigration,
  auditBlocksMigration,
  toolUseMigration,
  auditRowsMigration,
]
