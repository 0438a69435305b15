/**
 * The newest steps from one version of a database to the next, for both engines. A released step never changes. New steps
 * are added at the end.
 */
export const additions: readonly { readonly sqlite: string; readonly postgres: string }[] = [
  // What a tool that calls others has done before it waited.
  {
    sqlite: `
    ALTER TABLE pauses ADD COLUMN root_key TEXT;
    ALTER TABLE pauses ADD COLUMN root_hash TEXT;
    ALTER TABLE pauses ADD COLUMN progress TEXT;
    CREATE INDEX pauses_by_root ON pauses (tenant, root_key) WHERE root_key IS NOT NULL;
    CREATE INDEX pauses_by_root_call ON pauses (tenant, caller, root_hash) WHERE root_hash IS NOT NULL`,
    postgres: `
    ALTER TABLE toolyard.pauses ADD COLUMN root_key text COLLATE "C";
    ALTER TABLE toolyard.pauses ADD COLUMN root_hash text COLLATE "C";
    ALTER TABLE toolyard.pauses ADD COLUMN progress text;
    CREATE INDEX pauses_by_root ON toolyard.pauses (tenant, root_key) WHERE root_key IS NOT NULL;
    CREATE INDEX pauses_by_root_call ON toolyard.pauses (tenant, caller, root_hash) WHERE root_hash IS NOT NULL;`,
  },
  // The versions of tools, and the calls of each.
  {
    sqlite: `
    ALTER TABLE audit ADD COLUMN version TEXT;
    CREATE INDEX audit_by_version ON audit (tool, version, at) WHERE version IS NOT NULL;
    DROP VIEW audit_log;
    CREATE VIEW audit_log AS
      SELECT chains.name || ':' || seq AS id, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS time, at, tenant,
        caller, source, run_id, tool, model, schema_hash, params_hash, outcome, code AS error_code, duration_ms, attempts,
        event, subject, detail, version, hash
      FROM audit JOIN chains ON chains.id = audit.chain`,
    postgres: `
    ALTER TABLE toolyard.audit ADD COLUMN version text;
    CREATE INDEX audit_by_version ON toolyard.audit (tool, version, at) WHERE version IS NOT NULL;
    DROP VIEW toolyard.audit_log;
    CREATE VIEW toolyard.audit_log AS
      SELECT chains.name || ':' || seq AS id,
        to_char(to_timestamp(at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS time, at, tenant, caller,
        source, run_id, tool, model, schema_hash, params_hash, outcome, code AS error_code, duration_ms, attempts, event,
        subject, detail, version, hash
      FROM toolyard.audit JOIN toolyard.chains ON chains.id = audit.chain`,
  },
  // Users of the configured issuer.
  {
    sqlite: `
    CREATE TABLE users (
      id TEXT PRIMARY KEY,
      tenant TEXT NOT NULL,
      subject TEXT NOT NULL,
      name TEXT NOT NULL,
      role TEXT NOT NULL,
      expires_at REAL NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX users_by_expiry ON users (expires_at)`,
    postgres: `
    CREATE TABLE toolyard.users (
      id text COLLATE "C" PRIMARY KEY,
      tenant text COLLATE "C" NOT NULL,
      subject text COLLATE "C" NOT NULL,
      name text NOT NULL,
      role text COLLATE "C" NOT NULL,
      expires_at double precision NOT NULL
    );
    CREATE INDEX users_by_expiry ON toolyard.users (expires_at);`,
  },
]
