/** How models use tools; and what a run is replayed from, with what was decided about its tools, both as JSON. */
export const toolUseMigration = `
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

  ALTER TABLE runs ADD COLUMN gate TEXT;
  ALTER TABLE runs ADD COLUMN recording TEXT;
`
