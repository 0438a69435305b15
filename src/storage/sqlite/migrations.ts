import { ToolExecutionError } from '../../core/tool-result.ts'
import { sessionTable } from '../sql/keys.ts'
import { toolUseTable } from '../sql/runs.ts'
import { TABLES } from '../sql/sql-stores.ts'
import { creation, FIRST_SHARED, sharedSteps } from '../sql/table.ts'
import { FIRST_TABLES } from '../sql/tables.ts'
import { copyAuditBlocks } from './audit-blocks.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

const SHARED = sharedSteps('sqlite', TABLES)
/** The version of the layout. */
export const VERSION = FIRST_SHARED + SHARED.length - 1
/** Earlier versions were never released. */
const FIRST_EDITION = 4

/** Creates or migrates a database. If several processes open it at once, one does so and the others wait. */
export function migrate(database: SqliteDatabase): void {
  if (versionOf(database) === VERSION) return
  database.write(() => {
    const version = versionOf(database)
    if (version > VERSION) {
      throw new ToolExecutionError(
        'SERVICE_UNAVAILABLE',
        `${database.name} was written by a newer version of Toolyard (its version is ${version}, this one knows up to ` +
          `${VERSION}): use that version, or another data folder`,
      )
    }
    if (version > 0 && version < FIRST_EDITION) {
      throw new ToolExecutionError(
        'SERVICE_UNAVAILABLE',
        `${database.name} was written by a version of Toolyard that was never released (its version is ${version}): use ` +
          'another data folder',
      )
    }
    const run = (...layout: readonly string[]): void => {
      for (const sql of layout) database.exec(sql)
    }
    if (version === 0) {
      run(LAYOUT, ...[...FIRST_TABLES, toolUseTable, sessionTable].map((table) => creation('sqlite', table)))
      run(RUNS_BY_ID, AUDIT, AUDIT_INDEXES, EVENT_INDEXES, ACCESS)
    } else {
      if (version < 5) {
        run(AUDIT)
        copyAuditBlocks(database)
        run(AFTER_BLOCKS, AUDIT_INDEXES, EVENT_INDEXES)
      }
      // The figures are in an older format.
      if (version < 6) run('DELETE FROM cells')
      if (version === 5 || version === 6) run(ADD_EVENTS)
      if (version < 7) run(RUNS_BY_ID, ACCESS, creation('sqlite', sessionTable))
    }
    if (version < FIRST_SHARED) run(RESERVE)
    run(...SHARED.slice(Math.max(0, version + 1 - FIRST_SHARED)))
    database.exec(['PRAGMA user_version =', VERSION].join(' '))
  })
}

const versionOf = (database: SqliteDatabase): number =>
  Number(database.get<{ user_version: number }>('PRAGMA user_version')?.user_version)

const AUDIT = `
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
    event TEXT,
    subject TEXT,
    detail TEXT,
    PRIMARY KEY (chain, seq)
  ) STRICT, WITHOUT ROWID`

const AUDIT_INDEXES = `
  CREATE INDEX audit_by_tenant ON audit (tenant, at, chain, seq);
  CREATE INDEX audit_by_time ON audit (at, chain, seq);
  CREATE INDEX audit_by_run ON audit (run_id, at, chain, seq) WHERE run_id IS NOT NULL`

/** Events are few among many calls. */
const EVENT_INDEXES = `
  CREATE INDEX audit_event_by_time ON audit (at, chain, seq) WHERE event IS NOT NULL;
  CREATE INDEX audit_event_by_tenant ON audit (tenant, at, chain, seq) WHERE event IS NOT NULL;
  CREATE VIEW audit_log AS
    SELECT chains.name || ':' || seq AS id, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS time, at, tenant,
      caller, source, run_id, tool, model, schema_hash, params_hash, outcome, code AS error_code, duration_ms, attempts,
      event, subject, detail, hash
    FROM audit JOIN chains ON chains.id = audit.chain`

const ADD_EVENTS = `
  ALTER TABLE audit ADD COLUMN event TEXT;
  ALTER TABLE audit ADD COLUMN subject TEXT;
  ALTER TABLE audit ADD COLUMN detail TEXT;
  DROP VIEW audit_log;
  ${EVENT_INDEXES}`

/** Finds the tenant of a run that another tenant asks for. */
const RUNS_BY_ID = 'CREATE INDEX runs_by_id ON runs (id)'

const ACCESS = `
  ALTER TABLE keys ADD COLUMN tools TEXT;
  ALTER TABLE keys ADD COLUMN models TEXT`

/**
 * Times are milliseconds since 1970, or ISO 8601 text if the port uses it. Names of chains are long and part of every
 * index of the audit, so they are stored once and numbered.
 */
const LAYOUT = `
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
    claim TEXT,
    PRIMARY KEY (tenant, caller, key)
  ) STRICT;
  CREATE INDEX once_by_expiry ON once (expires_at);

  CREATE TABLE chains (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
  ) STRICT;

  -- Removed rows are marked, and deleted in small steps. The counts are those of visible documents. Each collection has its
  -- own table of words, knowledge_words_ and its id, so that collections don't affect each other's ranking.
  CREATE TABLE knowledge_collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    embedder TEXT,
    dimensions INTEGER,
    documents INTEGER NOT NULL DEFAULT 0,
    chunks INTEGER NOT NULL DEFAULT 0,
    vectors INTEGER NOT NULL DEFAULT 0,
    gone INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE UNIQUE INDEX knowledge_collections_by_name ON knowledge_collections (tenant, name) WHERE gone = 0;
  CREATE INDEX knowledge_collections_gone ON knowledge_collections (id) WHERE gone = 1;

  CREATE TABLE knowledge_versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL,
    document TEXT NOT NULL,
    version TEXT NOT NULL,
    state TEXT NOT NULL,
    parts INTEGER NOT NULL,
    parts_in INTEGER NOT NULL DEFAULT 0,
    chunks INTEGER NOT NULL DEFAULT 0,
    vectors INTEGER NOT NULL DEFAULT 0,
    put_at REAL NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX knowledge_versions_visible ON knowledge_versions (collection, document) WHERE state = 'visible';
  CREATE UNIQUE INDEX knowledge_versions_staged ON knowledge_versions (collection, document, version)
    WHERE state = 'staged';
  CREATE INDEX knowledge_versions_hidden ON knowledge_versions (collection, state) WHERE state <> 'visible';

  CREATE TABLE knowledge_parts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    version INTEGER NOT NULL,
    part INTEGER NOT NULL,
    source TEXT NOT NULL,
    metadata TEXT NOT NULL,
    UNIQUE (version, part)
  ) STRICT;

  CREATE TABLE knowledge_labels (
    collection INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    part INTEGER NOT NULL,
    PRIMARY KEY (collection, key, value, part)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE knowledge_chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    part INTEGER NOT NULL,
    position INTEGER NOT NULL,
    start_at INTEGER NOT NULL,
    end_at INTEGER NOT NULL,
    heading TEXT NOT NULL,
    text TEXT NOT NULL
  ) STRICT;
  CREATE INDEX knowledge_chunks_by_part ON knowledge_chunks (part);

  CREATE TABLE knowledge_vectors (
    chunk INTEGER PRIMARY KEY,
    vector BLOB NOT NULL
  ) STRICT;

  -- Small and side by side, so that all of a collection are scanned quickly.
  CREATE TABLE knowledge_codes (
    collection INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    code BLOB NOT NULL,
    PRIMARY KEY (collection, chunk)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE knowledge_waiting (
    collection INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    PRIMARY KEY (collection, chunk)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE known_vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    embedder TEXT NOT NULL,
    hash TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (embedder, hash)
  ) STRICT;`

/** Its pages are used to revoke a key on a full disk. */
const RESERVE = `
  CREATE TABLE reserve (
    id INTEGER PRIMARY KEY,
    data BLOB NOT NULL
  ) STRICT`

const AFTER_BLOCKS = `
  ALTER TABLE once ADD COLUMN claim TEXT;
  DROP TABLE audit_blocks;
  DROP TABLE audit_tenants;
  DROP TABLE audit_runs`
