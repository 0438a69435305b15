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
  // What a call cost, in millionths of the currency, and the API key that made it.
  {
    sqlite: `
    ALTER TABLE audit ADD COLUMN cost INTEGER;
    ALTER TABLE audit ADD COLUMN key TEXT;
    DROP VIEW audit_log;
    CREATE VIEW audit_log AS
      SELECT chains.name || ':' || seq AS id, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS time, at, tenant,
        caller, source, run_id, tool, model, schema_hash, params_hash, outcome, code AS error_code, duration_ms, attempts,
        event, subject, detail, version, cost / 1e6 AS cost, key, hash
      FROM audit JOIN chains ON chains.id = audit.chain`,
    postgres: `
    ALTER TABLE toolyard.audit ADD COLUMN cost bigint;
    ALTER TABLE toolyard.audit ADD COLUMN key text;
    DROP VIEW toolyard.audit_log;
    CREATE VIEW toolyard.audit_log AS
      SELECT chains.name || ':' || seq AS id,
        to_char(to_timestamp(at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS time, at, tenant, caller,
        source, run_id, tool, model, schema_hash, params_hash, outcome, code AS error_code, duration_ms, attempts, event,
        subject, detail, version, round(cost / 1000000.0, 6) AS cost, key, hash
      FROM toolyard.audit JOIN toolyard.chains ON chains.id = audit.chain`,
  },
  // What was spent, by day and month, what servers have set aside of budgets, and the budgets of keys.
  {
    sqlite: `
    CREATE TABLE spending (
      tenant TEXT NOT NULL,
      scope TEXT NOT NULL,
      name TEXT NOT NULL,
      per TEXT NOT NULL,
      start INTEGER NOT NULL,
      spent INTEGER NOT NULL,
      calls INTEGER NOT NULL,
      unknown INTEGER NOT NULL,
      PRIMARY KEY (tenant, scope, name, per, start)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX spending_by_start ON spending (start);
    CREATE TABLE budget_holds (
      tenant TEXT NOT NULL,
      scope TEXT NOT NULL,
      name TEXT NOT NULL,
      per TEXT NOT NULL,
      start INTEGER NOT NULL,
      instance TEXT NOT NULL,
      held INTEGER NOT NULL,
      PRIMARY KEY (tenant, scope, name, per, start, instance)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE last_turns (instance TEXT PRIMARY KEY, turn INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    ALTER TABLE keys ADD COLUMN budget TEXT`,
    postgres: `
    CREATE TABLE toolyard.spending (
      tenant text COLLATE "C" NOT NULL,
      scope text NOT NULL,
      name text COLLATE "C" NOT NULL,
      per text NOT NULL,
      start double precision NOT NULL,
      spent bigint NOT NULL,
      calls bigint NOT NULL,
      unknown bigint NOT NULL,
      PRIMARY KEY (tenant, scope, name, per, start)
    );
    CREATE INDEX spending_by_start ON toolyard.spending (start);
    CREATE TABLE toolyard.budget_holds (
      tenant text COLLATE "C" NOT NULL,
      scope text NOT NULL,
      name text COLLATE "C" NOT NULL,
      per text NOT NULL,
      start double precision NOT NULL,
      instance text COLLATE "C" NOT NULL,
      held bigint NOT NULL,
      PRIMARY KEY (tenant, scope, name, per, start, instance)
    );
    CREATE TABLE toolyard.last_turns (instance text COLLATE "C" PRIMARY KEY, turn bigint NOT NULL);
    ALTER TABLE toolyard.keys ADD COLUMN budget text;`,
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
      issued_at REAL NOT NULL,
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
      issued_at double precision NOT NULL,
      expires_at double precision NOT NULL
    );
    CREATE INDEX users_by_expiry ON toolyard.users (expires_at);`,
  },
  // What servers have set aside of budgets, one row for each call: a call gives back exactly what it has set aside.
  {
    sqlite: `
    DROP TABLE budget_holds;
    CREATE TABLE budget_holds (
      tenant TEXT NOT NULL,
      scope TEXT NOT NULL,
      name TEXT NOT NULL,
      per TEXT NOT NULL,
      start INTEGER NOT NULL,
      id TEXT NOT NULL,
      instance TEXT NOT NULL,
      held INTEGER NOT NULL,
      PRIMARY KEY (tenant, scope, name, per, start, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX budget_holds_by_id ON budget_holds (id)`,
    postgres: `
    DROP TABLE toolyard.budget_holds;
    CREATE TABLE toolyard.budget_holds (
      tenant text COLLATE "C" NOT NULL,
      scope text NOT NULL,
      name text COLLATE "C" NOT NULL,
      per text NOT NULL,
      start double precision NOT NULL,
      id text COLLATE "C" NOT NULL,
      instance text COLLATE "C" NOT NULL,
      held bigint NOT NULL,
      PRIMARY KEY (tenant, scope, name, per, start, id)
    );
    CREATE INDEX budget_holds_by_id ON toolyard.budget_holds (id);`,
  },
  // What the role of a user comes from, and when an administrator signed the user out.
  {
    sqlite: `
    ALTER TABLE users ADD COLUMN basis TEXT NOT NULL DEFAULT '';
    ALTER TABLE users ADD COLUMN revoked_at REAL;
    -- Responses have a limit of their own.
    UPDATE job_bytes SET bytes = max(0, bytes - coalesce((
      SELECT sum(bytes) FROM chat_turns WHERE chat_turns.tenant = job_bytes.tenant AND substr(chat, 1, 5) = 'resp_'), 0));
    CREATE INDEX chat_turns_of_responses ON chat_turns (tenant, id, bytes) WHERE substr(chat, 1, 5) = 'resp_'`,
    postgres: `
    ALTER TABLE toolyard.users ADD COLUMN basis text NOT NULL DEFAULT '';
    ALTER TABLE toolyard.users ADD COLUMN revoked_at double precision;
    UPDATE toolyard.job_bytes SET bytes = greatest(0, bytes - coalesce((
      SELECT sum(bytes) FROM toolyard.chat_turns
      WHERE chat_turns.tenant = job_bytes.tenant AND substr(chat, 1, 5) = 'resp_'), 0));
    CREATE INDEX chat_turns_of_responses ON toolyard.chat_turns (tenant, id, bytes)
      WHERE substr(chat, 1, 5) = 'resp_';`,
  },
  // Accounts of users at providers, and authorizations that they have started.
  {
    sqlite: `
    CREATE TABLE connections (
      tenant TEXT NOT NULL,
      user_id TEXT NOT NULL,
      provider TEXT NOT NULL,
      tokens TEXT NOT NULL,
      scopes TEXT NOT NULL,
      expires_at REAL,
      version INTEGER NOT NULL,
      broken INTEGER NOT NULL,
      leased_until REAL NOT NULL,
      created_at REAL NOT NULL,
      updated_at REAL NOT NULL,
      PRIMARY KEY (tenant, user_id, provider)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE connect_flows (
      id TEXT PRIMARY KEY,
      state_hash TEXT,
      tenant TEXT NOT NULL,
      user_id TEXT NOT NULL,
      provider TEXT NOT NULL,
      verifier TEXT NOT NULL,
      expires_at REAL NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX connect_flows_by_state ON connect_flows (state_hash) WHERE state_hash IS NOT NULL;
    CREATE INDEX connect_flows_by_user ON connect_flows (tenant, user_id);
    CREATE INDEX connect_flows_by_expiry ON connect_flows (expires_at)`,
    postgres: `
    CREATE TABLE toolyard.connections (
      tenant text COLLATE "C" NOT NULL,
      user_id text COLLATE "C" NOT NULL,
      provider text COLLATE "C" NOT NULL,
      tokens text NOT NULL,
      scopes text NOT NULL,
      expires_at double precision,
      version bigint NOT NULL,
      broken smallint NOT NULL,
      leased_until double precision NOT NULL,
      created_at double precision NOT NULL,
      updated_at double precision NOT NULL,
      PRIMARY KEY (tenant, user_id, provider)
    );
    CREATE TABLE toolyard.connect_flows (
      id text COLLATE "C" PRIMARY KEY,
      state_hash text COLLATE "C",
      tenant text COLLATE "C" NOT NULL,
      user_id text COLLATE "C" NOT NULL,
      provider text COLLATE "C" NOT NULL,
      verifier text NOT NULL,
      expires_at double precision NOT NULL
    );
    CREATE UNIQUE INDEX connect_flows_by_state ON toolyard.connect_flows (state_hash) WHERE state_hash IS NOT NULL;
    CREATE INDEX connect_flows_by_user ON toolyard.connect_flows (tenant, user_id);
    CREATE INDEX connect_flows_by_expiry ON toolyard.connect_flows (expires_at);`,
  },
  // The parameters and results of calls, beside their rows of the audit log.
  {
    sqlite: `
    CREATE TABLE payloads (
      chain INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      tenant TEXT NOT NULL,
      at REAL NOT NULL,
      bytes INTEGER NOT NULL,
      content TEXT NOT NULL,
      PRIMARY KEY (chain, seq)
    ) STRICT;
    CREATE INDEX payloads_by_time ON payloads (at)`,
    postgres: `
    CREATE TABLE toolyard.payloads (
      chain integer NOT NULL,
      seq bigint NOT NULL,
      tenant text COLLATE "C" NOT NULL,
      at double precision NOT NULL,
      bytes bigint NOT NULL,
      content text NOT NULL,
      PRIMARY KEY (chain, seq)
    );
    CREATE INDEX payloads_by_time ON toolyard.payloads (at);`,
  },
  // Lists of chats read the index only, not the messages.
  {
    sqlite: `
    DROP INDEX chat_turns_by_chat;
    CREATE INDEX chat_turns_by_chat ON chat_turns (tenant, caller, chat, id, bytes, at)`,
    postgres: `
    DROP INDEX toolyard.chat_turns_by_chat;
    CREATE INDEX chat_turns_by_chat ON toolyard.chat_turns (tenant, caller, chat, id) INCLUDE (bytes, at);`,
  },
  // The runs whose tools were mocks, and the run that answered a question of a chat.
  {
    sqlite: `
    ALTER TABLE runs ADD COLUMN mocked INTEGER;
    ALTER TABLE chat_turns ADD COLUMN run_id TEXT`,
    postgres: `
    ALTER TABLE toolyard.runs ADD COLUMN mocked smallint;
    ALTER TABLE toolyard.chat_turns ADD COLUMN run_id text;`,
  },
  // Threads, saved views and ratings of the web UI.
  {
    sqlite: `
    CREATE TABLE items (
      tenant TEXT NOT NULL,
      kind TEXT NOT NULL,
      owner TEXT NOT NULL,
      id TEXT NOT NULL,
      owner_name TEXT NOT NULL,
      subject TEXT,
      label TEXT,
      name TEXT NOT NULL,
      content TEXT NOT NULL,
      bytes INTEGER NOT NULL,
      created_at REAL NOT NULL,
      updated_at REAL NOT NULL,
      PRIMARY KEY (tenant, kind, owner, id)
    ) STRICT;
    CREATE INDEX items_by_subject ON items (tenant, kind, subject, label) WHERE subject IS NOT NULL;
    CREATE INDEX items_by_time ON items (updated_at)`,
    postgres: `
    CREATE TABLE toolyard.items (
      tenant text COLLATE "C" NOT NULL,
      kind text COLLATE "C" NOT NULL,
      owner text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL,
      owner_name text NOT NULL,
      subject text COLLATE "C",
      label text COLLATE "C",
      name text NOT NULL,
      content text NOT NULL,
      bytes bigint NOT NULL,
      created_at double precision NOT NULL,
      updated_at double precision NOT NULL,
      PRIMARY KEY (tenant, kind, owner, id)
    );
    CREATE INDEX items_by_subject ON toolyard.items (tenant, kind, subject, label) WHERE subject IS NOT NULL;
    CREATE INDEX items_by_time ON toolyard.items (updated_at);`,
  },
  // The former secret of a key that was rotated.
  {
    sqlite: `
    CREATE TABLE former_secrets (
      id TEXT PRIMARY KEY,
      hash TEXT NOT NULL UNIQUE,
      until TEXT NOT NULL
    ) STRICT`,
    postgres: `
    CREATE TABLE toolyard.former_secrets (
      id text COLLATE "C" PRIMARY KEY,
      hash text COLLATE "C" NOT NULL UNIQUE,
      until text NOT NULL
    );`,
  },
  // The tool that the run of an agent belongs to.
  {
    sqlite: 'ALTER TABLE runs ADD COLUMN agent TEXT',
    postgres: 'ALTER TABLE toolyard.runs ADD COLUMN agent text;',
  },
  // The user who asked for an approval.
  {
    sqlite: 'ALTER TABLE pauses ADD COLUMN subject TEXT',
    postgres: 'ALTER TABLE toolyard.pauses ADD COLUMN subject text;',
  },
  // The definitions that a person approves. Approvals from before have none.
  {
    sqlite: 'ALTER TABLE pauses ADD COLUMN definitions TEXT',
    postgres: 'ALTER TABLE toolyard.pauses ADD COLUMN definitions text;',
  },
]
