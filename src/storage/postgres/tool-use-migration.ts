/** How models use tools; and what a run is replayed from, with what was decided about its tools, both as JSON. */
export const toolUseMigration = `
  CREATE TABLE toolyard.tool_use (
    tenant text COLLATE "C" NOT NULL,
    model_id text COLLATE "C" NOT NULL,
    tool text COLLATE "C" NOT NULL,
    schema_hash text COLLATE "C" NOT NULL,
    trials bigint NOT NULL,
    successes bigint NOT NULL,
    last_used text COLLATE "C" NOT NULL,
    -- JSON: the counts by source, the kinds of failures, and the last of them.
    details text NOT NULL,
    PRIMARY KEY (tenant, model_id, tool, schema_hash)
  );

  ALTER TABLE toolyard.runs ADD COLUMN gate text, ADD COLUMN recording text;
`
