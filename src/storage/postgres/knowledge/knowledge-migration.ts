/** The tables of collections, documents and their chunks. */
export const knowledgeMigration = `
  -- What can only be made where pgvector is there is made apart: knowledge_vectors and knowledge_codes. The counts are
  -- those of what is visible. A collection that is gone is removed a little at a time.
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
