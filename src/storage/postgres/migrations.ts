import { sessionTable } from '../sql/keys.ts'
import { toolUseTable } from '../sql/runs.ts'
import { TABLES } from '../sql/sql-stores.ts'
import { creation, sharedSteps } from '../sql/table.ts'
import { FIRST_TABLES } from '../sql/tables.ts'

/** The tables of collections, documents and their chunks. */
const knowledgeMigration = `
  -- knowledge_vectors and knowledge_codes need pgvector and are created separately. The counts are those of visible
  -- documents. Removed collections are deleted in small steps.
  CREATE TABLE toolyard.knowledge_collections (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    embedder text,
    dimensions integer,
    documents bigint NOT NULL DEFAULT 0,
    chunks bigint NOT NULL DEFAULT 0,
    vectors bigint NOT NULL DEFAULT 0,
    gone boolean NOT NULL DEFAULT false
  );
  CREATE UNIQUE INDEX knowledge_collections_by_name ON toolyard.knowledge_collections (tenant, name) WHERE NOT gone;

  CREATE TABLE toolyard.knowledge_versions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection integer NOT NULL REFERENCES toolyard.knowledge_collections,
    document text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    visible boolean NOT NULL DEFAULT false,
    parts integer NOT NULL,
    parts_in integer NOT NULL DEFAULT 0,
    chunks bigint NOT NULL DEFAULT 0,
    vectors bigint NOT NULL DEFAULT 0,
    put_at double precision NOT NULL
  );
  CREATE UNIQUE INDEX knowledge_versions_visible ON toolyard.knowledge_versions (collection, document) WHERE visible;
  CREATE UNIQUE INDEX knowledge_versions_staged ON toolyard.knowledge_versions (collection, document, version)
    WHERE NOT visible;

  CREATE TABLE toolyard.knowledge_parts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version bigint NOT NULL REFERENCES toolyard.knowledge_versions ON DELETE CASCADE,
    part integer NOT NULL,
    source text NOT NULL,
    metadata jsonb NOT NULL,
    UNIQUE (version, part)
  );
  CREATE INDEX knowledge_parts_by_metadata ON toolyard.knowledge_parts USING gin (metadata jsonb_path_ops);

  CREATE TABLE toolyard.knowledge_chunks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection integer NOT NULL,
    part bigint NOT NULL REFERENCES toolyard.knowledge_parts ON DELETE CASCADE,
    position integer NOT NULL,
    start_at integer NOT NULL,
    end_at integer NOT NULL,
    heading text NOT NULL,
    text text NOT NULL,
    words tsvector NOT NULL
  );
  CREATE INDEX knowledge_chunks_by_collection ON toolyard.knowledge_chunks (collection);
  CREATE INDEX knowledge_chunks_by_part ON toolyard.knowledge_chunks (part);
  CREATE INDEX knowledge_chunks_by_words ON toolyard.knowledge_chunks USING gin (words);

  CREATE TABLE toolyard.knowledge_waiting (
    chunk bigint PRIMARY KEY REFERENCES toolyard.knowledge_chunks ON DELETE CASCADE,
    collection integer NOT NULL
  );
  CREATE INDEX knowledge_waiting_by_collection ON toolyard.knowledge_waiting (collection, chunk);

  CREATE TABLE toolyard.known_vectors (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    embedder text COLLATE "C" NOT NULL,
    hash text COLLATE "C" NOT NULL,
    vector bytea NOT NULL,
    UNIQUE (embedder, hash)
  );
`

/**
 * The steps from each version of the database to the next. A released step never changes.
 *
 * Times are milliseconds since 1970, or ISO 8601 text if the port uses it. Heartbeats use the time of the database, since
 * the clocks of machines differ. JSON is stored as text. Names of chains are long and part of every index of the audit,
 * so they are stored once and numbered.
 */
export const migrations: readonly string[] = [
  [
    ...FIRST_TABLES.map((table) => creation('postgres', table)),
    `
  CREATE TABLE toolyard.instances (
    instance text COLLATE "C" PRIMARY KEY,
    seen_at timestamptz NOT NULL,
    -- When it sent a heartbeat again after it counted as dead.
    back_at timestamptz NOT NULL DEFAULT '-infinity',
    ended_at timestamptz
  );

  -- An instance that was itself cut off from the database doesn't consider others dead yet.
  CREATE FUNCTION toolyard.is_alive(asked text, asker text, dead_ms double precision) RETURNS boolean
  LANGUAGE sql STABLE AS $$
    SELECT coalesce((
      SELECT i.ended_at IS NULL AND (
        i.seen_at > now() - dead_ms * interval '1 millisecond'
        OR pg_postmaster_start_time() > now() - dead_ms * interval '1 millisecond'
        OR EXISTS (
          SELECT FROM toolyard.instances a
          WHERE a.instance = asker AND (
            a.seen_at <= now() - dead_ms * interval '1 millisecond'
            OR a.back_at > now() - dead_ms * interval '1 millisecond'
          )
        )
      )
      FROM toolyard.instances i WHERE i.instance = asked
    ), false)
  $$;

  CREATE TABLE toolyard.keys (
    id text COLLATE "C" PRIMARY KEY,
    hash text COLLATE "C" NOT NULL UNIQUE,
    tenant text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    scopes text[],
    calls_per_minute double precision,
    created_at text COLLATE "C" NOT NULL,
    expires_at text,
    revoked_at text
  );

  CREATE TABLE toolyard.validations (
    tenant text COLLATE "C" NOT NULL,
    model_id text COLLATE "C" NOT NULL,
    test_count bigint NOT NULL,
    success_count bigint NOT NULL,
    -- One JSON text a test.
    test_history text[] NOT NULL,
    PRIMARY KEY (tenant, model_id)
  );

  CREATE TABLE toolyard.once (
    tenant text COLLATE "C" NOT NULL,
    caller text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    instance text NOT NULL,
    -- Identifies the current claim, so that its owner recognizes it.
    claim text NOT NULL,
    expires_at double precision NOT NULL,
    result text,
    PRIMARY KEY (tenant, caller, key)
  );
  CREATE INDEX once_by_expiry ON toolyard.once (expires_at);

  CREATE TABLE toolyard.chains (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
  );

  CREATE TABLE toolyard.audit (
    chain integer NOT NULL,
    seq bigint NOT NULL,
    at double precision NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    caller text,
    source text,
    run_id text COLLATE "C",
    tool text COLLATE "C" NOT NULL,
    schema_hash text,
    params_hash text,
    outcome text NOT NULL,
    code text,
    duration_ms double precision NOT NULL,
    attempts bigint NOT NULL,
    hash text NOT NULL,
    PRIMARY KEY (chain, seq)
  );
  CREATE INDEX audit_by_tenant ON toolyard.audit (tenant, at, chain, seq);
  CREATE INDEX audit_by_tool ON toolyard.audit (tenant, tool, at, chain, seq);
  CREATE INDEX audit_failures ON toolyard.audit (tenant, at, chain, seq) WHERE outcome <> 'success';
  CREATE INDEX audit_by_time ON toolyard.audit (at, chain, seq);
  CREATE INDEX audit_by_run ON toolyard.audit (run_id, at, chain, seq) WHERE run_id IS NOT NULL;

  CREATE TABLE toolyard.leases (
    key text COLLATE "C" NOT NULL,
    instance text COLLATE "C" NOT NULL,
    amount bigint NOT NULL,
    -- When the last call that it may have been used for is past.
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (key, instance)
  );

  -- Keys are locked in a fixed order to avoid deadlocks. Each statement of the function sees what was committed before
  -- it began, so that the sums are those of after the lock.
  CREATE FUNCTION toolyard.lease(
    me text, dead_ms double precision, beat_ms double precision,
    keys text[], calls bigint[], spans_ms double precision[], wants bigint[]
  ) RETURNS TABLE (leased text, held bigint)
  LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock(hashes.hash)
    FROM (SELECT DISTINCT hashtextextended(k, 7201) AS hash FROM unnest(keys) AS k ORDER BY 1) AS hashes;
    RETURN QUERY
    WITH asked AS (
      SELECT * FROM unnest(keys, calls, spans_ms, wants) AS a (key, calls, span_ms, want)
    ), taken AS (
      SELECT l.key, sum(l.amount)::bigint AS amount
      FROM asked
      JOIN toolyard.leases l ON l.key = asked.key AND l.instance <> me
      LEFT JOIN toolyard.instances i ON i.instance = l.instance
      WHERE toolyard.is_alive(l.instance, me, dead_ms)
        OR greatest(l.expires_at, i.seen_at + (asked.span_ms + beat_ms) * interval '1 millisecond') > now()
      GROUP BY l.key
    )
    INSERT INTO toolyard.leases AS l (key, instance, amount, expires_at)
    SELECT asked.key, me, greatest(0, least(asked.want, asked.calls - coalesce(taken.amount, 0))),
      clock_timestamp() + asked.span_ms * interval '1 millisecond'
    FROM asked LEFT JOIN taken ON taken.key = asked.key
    ON CONFLICT (key, instance) DO UPDATE SET amount = excluded.amount, expires_at = excluded.expires_at
    RETURNING l.key, l.amount;
  END
  $$;

  -- Unlogged: data that a crash loses is read again. The sequence is logged, since it must never go back.
  CREATE SEQUENCE toolyard.cache_seq;
  CREATE UNLOGGED TABLE toolyard.cache_feed (
    seq bigint PRIMARY KEY DEFAULT nextval('toolyard.cache_seq'),
    put_at timestamptz NOT NULL DEFAULT now(),
    instance text NOT NULL,
    key text NOT NULL,
    text text NOT NULL,
    expires_at double precision NOT NULL
  );

  -- One at a time, so that numbers become visible in order and no reader skips one.
  CREATE FUNCTION toolyard.share(me text, keys text[], texts text[], expiries double precision[]) RETURNS void
  LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock(7202);
    INSERT INTO toolyard.cache_feed (instance, key, text, expires_at)
    SELECT me, entry.key, entry.text, entry.expires_at
    FROM unnest(keys, texts, expiries) WITH ORDINALITY AS entry (key, text, expires_at, place) ORDER BY place;
    PERFORM pg_notify('toolyard', 'cache');
  END
  $$`,
  ].join(';\n'),
  knowledgeMigration,
  [
    creation('postgres', toolUseTable),
    'ALTER TABLE toolyard.runs ADD COLUMN IF NOT EXISTS gate text, ADD COLUMN IF NOT EXISTS recording text',
  ].join(';\n'),
  `
  ALTER TABLE toolyard.keys ALTER scopes TYPE text USING array_to_json(scopes)::text;
  ALTER TABLE toolyard.validations
    ALTER test_history TYPE text USING '[' || array_to_string(test_history, ',') || ']';
  ALTER TABLE toolyard.audit ADD COLUMN model text;
  CREATE VIEW toolyard.audit_log AS
    SELECT chains.name || ':' || seq AS id,
      to_char(to_timestamp(at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS time, at, tenant, caller,
      source, run_id, tool, model, schema_hash, params_hash, outcome, code AS error_code, duration_ms, attempts, hash
    FROM toolyard.audit JOIN toolyard.chains ON chains.id = audit.chain;
  `,
  // Removes figures in an older format.
  'DELETE FROM toolyard.cells',
  // Servers no longer share cached results.
  `DROP FUNCTION toolyard.share(text, text[], text[], double precision[]);
  DROP TABLE toolyard.cache_feed;
  DROP SEQUENCE toolyard.cache_seq`,
  // Events in the audit log, and the tenant of a run that another tenant asks for.
  `ALTER TABLE toolyard.audit ADD COLUMN event text, ADD COLUMN subject text, ADD COLUMN detail text;
  CREATE INDEX audit_event_by_time ON toolyard.audit (at, chain, seq) WHERE event IS NOT NULL;
  CREATE INDEX audit_event_by_tenant ON toolyard.audit (tenant, at, chain, seq) WHERE event IS NOT NULL;
  CREATE INDEX runs_by_id ON toolyard.runs (id);
  DROP VIEW toolyard.audit_log;
  CREATE VIEW toolyard.audit_log AS
    SELECT chains.name || ':' || seq AS id,
      to_char(to_timestamp(at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS time, at, tenant, caller,
      source, run_id, tool, model, schema_hash, params_hash, outcome, code AS error_code, duration_ms, attempts, event,
      subject, detail, hash
    FROM toolyard.audit JOIN toolyard.chains ON chains.id = audit.chain`,
  ['ALTER TABLE toolyard.keys ADD COLUMN tools text, ADD COLUMN models text', creation('postgres', sessionTable)].join(
    ';\n',
  ),
  ...sharedSteps('postgres', TABLES),
]
