import { ToolExecutionError } from '../../core/tool-result.ts'
import { additions } from '../sql/additions.ts'
import { copyAuditBlocks } from './audit-blocks.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

/** The version before the steps that both engines list together. */
const BEFORE_ADDITIONS = 11
/** The version of the layout. */
export const VERSION = BEFORE_ADDITIONS + additions.length
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
    if (version === 0) {
      const layout = [
        LAYOUT,
        RUNS_BY_ID,
        AUDIT,
        AUDIT_INDEXES,
        EVENT_INDEXES,
        ACCESS,
        QUOTAS,
        CHATS,
        PAUSES,
        DURABLE_RUNS,
        ...additions.map((step) => step.sqlite),
      ]
      for (const sql of layout) database.exec(sql)
    } else {
      if (version < 5) {
        database.exec(AUDIT)
        copyAuditBlocks(database)
        for (const sql of [AFTER_BLOCKS, AUDIT_INDEXES, EVENT_INDEXES]) database.exec(sql)
      }
      // The figures are in an older format.
      if (version < 6) database.exec('DELETE FROM cells')
      if (version === 5 || version === 6) database.exec(ADD_EVENTS)
      if (version < 7) for (const sql of [RUNS_BY_ID, ACCESS]) database.exec(sql)
      if (version < 8) database.exec(QUOTAS)
      if (version < 9) database.exec(CHATS)
      if (version < 10) database.exec(PAUSES)
      if (version < 11) database.exec(DURABLE_RUNS)
      for (const step of additions.slice(Math.max(0, version - BEFORE_ADDITIONS))) database.exec(step.sqlite)
    }
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
  ALTER TABLE keys ADD COLUMN models TEXT;
  CREATE TABLE sessions (
    hash TEXT PRIMARY KEY,
    caller TEXT NOT NULL,
    expires_at REAL NOT NULL,
    ends_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_by_caller ON sessions (caller, expires_at);
  CREATE INDEX sessions_by_expiry ON sessions (expires_at)`

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
    claim TEXT,
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
    -- JSON: what was decided about its tools, and what it is replayed from.
    gate TEXT,
    recording TEXT,
    PRIMARY KEY (tenant, id)
  ) STRICT;
  CREATE INDEX runs_by_tenant ON runs (tenant, started_at, id);
  CREATE INDEX runs_by_time ON runs (started_at);

  CREATE TABLE chains (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
  ) STRICT;

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

  CREATE TABLE tool_use (
    tenant TEXT NOT NULL,
    model_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    schema_hash TEXT NOT NULL,
    trials INTEGER NOT NULL,
    successes INTEGER NOT NULL,
    last_used TEXT NOT NULL,
    -- JSON: the counts by source, the kinds of failures, and the last of them.
    details TEXT NOT NULL,
    PRIMARY KEY (tenant, model_id, tool, schema_hash)
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

/** Counts what tenants store. */
const QUOTAS = `
  ALTER TABLE knowledge_versions ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE knowledge_collections ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  UPDATE knowledge_versions SET bytes = coalesce((
    SELECT sum(octet_length(text) + octet_length(heading)) FROM knowledge_chunks
    WHERE part IN (SELECT id FROM knowledge_parts WHERE version = knowledge_versions.id)), 0);
  UPDATE knowledge_collections SET bytes = coalesce((
    SELECT sum(bytes) FROM knowledge_versions WHERE collection = knowledge_collections.id AND state <> 'gone'), 0);

  ALTER TABLE jobs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  UPDATE jobs SET bytes = octet_length(params) + coalesce(octet_length(result), 0);
  CREATE INDEX jobs_to_do_by_tenant ON jobs (tenant) WHERE state IN ('queued', 'running');
  CREATE TABLE job_bytes (
    tenant TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO job_bytes (tenant, bytes) SELECT tenant, sum(bytes) FROM jobs GROUP BY tenant;

  -- Its pages are used to revoke a key on a full disk.
  CREATE TABLE reserve (
    id INTEGER PRIMARY KEY,
    data BLOB NOT NULL
  ) STRICT;`

const CHATS = `
  CREATE TABLE chat_turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    caller TEXT NOT NULL,
    chat TEXT NOT NULL,
    message_id TEXT NOT NULL,
    messages TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    at REAL NOT NULL
  ) STRICT;
  CREATE INDEX chat_turns_by_chat ON chat_turns (tenant, caller, chat, id);
  CREATE INDEX chat_turns_by_time ON chat_turns (at)`

/** Calls that wait for a person, and which key created a key. */
const PAUSES = `
  ALTER TABLE keys ADD COLUMN created_by TEXT;
  -- A key with every scope has the new one, too.
  UPDATE keys SET scopes = '["read","call","chat","observe","validate","approve","manage","installation"]'
  WHERE scopes = '["read","call","chat","observe","validate","manage","installation"]';
  CREATE TABLE pauses (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    tenant TEXT NOT NULL,
    caller TEXT NOT NULL,
    tool TEXT NOT NULL,
    version TEXT NOT NULL,
    params_hash TEXT NOT NULL,
    params TEXT NOT NULL,
    run_id TEXT,
    call_id TEXT,
    requested_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    decision TEXT,
    decided_params TEXT,
    decided_by TEXT,
    decided_by_name TEXT,
    decided_at REAL,
    reason TEXT,
    begun_at REAL
  ) STRICT;
  CREATE INDEX pauses_by_tenant ON pauses (tenant, requested_at, id);
  CREATE INDEX pauses_by_call ON pauses (tenant, caller, params_hash);
  CREATE INDEX pauses_by_expiry ON pauses (expires_at);
  CREATE INDEX pauses_pending ON pauses (tenant, caller, expires_at) WHERE decision IS NULL;
  CREATE INDEX pauses_by_run ON pauses (run_id) WHERE run_id IS NOT NULL`

/** Runs that survive their process, and their steps. */
const DURABLE_RUNS = `
  CREATE TABLE durable_runs (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    caller TEXT NOT NULL,
    model TEXT NOT NULL,
    status TEXT NOT NULL,
    owner TEXT,
    fence INTEGER NOT NULL,
    resumes INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    request TEXT NOT NULL,
    answer TEXT,
    wake_at REAL,
    created_at REAL NOT NULL,
    ended_at REAL
  ) STRICT;
  CREATE INDEX durable_runs_open ON durable_runs (tenant) WHERE status IN ('running', 'waiting');
  CREATE INDEX durable_runs_running ON durable_runs (created_at) WHERE status = 'running';
  CREATE INDEX durable_runs_waiting ON durable_runs (wake_at) WHERE status = 'waiting';
  CREATE INDEX durable_runs_ended ON durable_runs (ended_at) WHERE ended_at IS NOT NULL;
  CREATE TABLE run_steps (
    run_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    shown TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (run_id, seq)
  ) STRICT, WITHOUT ROWID;
  ALTER TABLE runs ADD COLUMN parent_run TEXT;
  CREATE INDEX runs_by_parent ON runs (tenant, parent_run, started_at) WHERE parent_run IS NOT NULL`

const AFTER_BLOCKS = `
  ALTER TABLE once ADD COLUMN claim TEXT;
  DROP TABLE audit_blocks;
  DROP TABLE audit_tenants;
  DROP TABLE audit_runs`
