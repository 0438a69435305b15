/** The tables of collections, documents and their chunks. */
export const knowledgeMigration = `
  -- What has gone is marked as such, and removed a little at a time. The counts are those of what is visible. The words of
  -- a collection stand in a table of its own, knowledge_words_ and its id, so that nobody's words weigh in another's.
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
  ) STRICT;
`
