import { addToolUse } from '../../core/storage/add-tool-use.ts'
import {
  type DoubtfulToolUse,
  KEPT_SCHEMAS,
  type StoredToolUse,
  type ToolUseAddition,
  type ToolUseStore,
} from '../../core/storage/tool-use-store.ts'
import { fromToolUseRow, type ToolUseRow, toToolUseRow } from '../tool-use-row.ts'
import type { PostgresDatabase, Statements } from './postgres-database.ts'

/** One server at a time adds to the table: each sees what the others have added, and waits for none of its rows. */
const LOCK = 'SELECT pg_advisory_xact_lock(7203)'

const LIST = 'SELECT * FROM toolyard.tool_use WHERE tenant = $1 ORDER BY model_id, tool, schema_hash'

const FIND = `
  SELECT t.* FROM toolyard.tool_use t
  JOIN unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS asked (tenant, model_id, tool, schema_hash)
    USING (tenant, model_id, tool, schema_hash)`

const PUT = `
  INSERT INTO toolyard.tool_use (tenant, model_id, tool, schema_hash, trials, successes, last_used, details)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[],
    $8::text[])
  ON CONFLICT (tenant, model_id, tool, schema_hash) DO UPDATE SET trials = excluded.trials,
    successes = excluded.successes, last_used = excluded.last_used, details = excluded.details`

/** A tool that is described anew at every start must not fill the table. */
const FORGET_OLDEST = `
  DELETE FROM toolyard.tool_use t USING (
    SELECT tenant, model_id, tool, schema_hash, row_number() OVER (
      PARTITION BY tenant, model_id, tool ORDER BY last_used DESC, schema_hash
    ) AS place
    FROM toolyard.tool_use
    WHERE (tenant, model_id, tool) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))
  ) AS placed
  WHERE placed.place > $4 AND t.tenant = placed.tenant AND t.model_id = placed.model_id AND t.tool = placed.tool
    AND t.schema_hash = placed.schema_hash`

const CLEAR = 'DELETE FROM toolyard.tool_use WHERE tenant = $1'

const DOUBTFUL = `
  SELECT tenant, model_id, tool, schema_hash, trials, successes FROM toolyard.tool_use
  WHERE trials >= $1 AND successes < $2::double precision * trials`

const TELL = "SELECT pg_notify('toolyard', 'validations')"

type TenantRow = ToolUseRow & { readonly tenant: string }

/** How models use tools, by tenant; each change is told to all servers. */
export class PostgresToolUse implements ToolUseStore {
  readonly #database: PostgresDatabase

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  async list(tenant: string): Promise<readonly StoredToolUse[]> {
    const { rows } = await this.#database.run<ToolUseRow>(LIST, [tenant])
    return rows.map(fromToolUseRow)
  }

  async add(additions: readonly ToolUseAddition[]): Promise<void> {
    await this.#database.transaction(async (statements) => {
      await statements.run(LOCK)
      const { rows } = await statements.run<TenantRow>(FIND, [
        additions.map(({ tenant }) => tenant),
        additions.map(({ model_id }) => model_id),
        additions.map(({ tool }) => tool),
        additions.map(({ schema_hash }) => schema_hash),
      ])
      const uses = new Map(rows.map((row) => [keyOf(row), { tenant: row.tenant, ...fromToolUseRow(row) }]))
      const fresh = additions.filter((addition) => !uses.has(keyOf(addition)))
      for (const addition of additions) {
        const { tenant, ...more } = addition
        uses.set(keyOf(addition), { tenant, ...addToolUse(uses.get(keyOf(addition)), more) })
      }
      await put(statements, [...uses.values()])
      const named = [fresh.map(({ tenant }) => tenant), fresh.map((one) => one.model_id), fresh.map(({ tool }) => tool)]
      if (fresh.length > 0) await statements.run(FORGET_OLDEST, [...named, KEPT_SCHEMAS])
      await statements.run(TELL)
    })
  }

  async replace(tenant: string, uses: readonly StoredToolUse[]): Promise<void> {
    await this.#database.transaction(async (statements) => {
      await statements.run(LOCK)
      await statements.run(CLEAR, [tenant])
      await put(
        statements,
        uses.map((use) => ({ tenant, ...use })),
      )
      await statements.run(TELL)
    })
  }

  async doubtful(minimumTrials: number, threshold: number): Promise<readonly DoubtfulToolUse[]> {
    return (await this.#database.run<DoubtfulToolUse>(DOUBTFUL, [minimumTrials, threshold])).rows
  }
}

async function put(statements: Statements, uses: readonly ToolUseAddition[]): Promise<void> {
  const rows = uses.map(({ tenant, ...use }) => ({ tenant, ...toToolUseRow(use) }))
  await statements.run(PUT, [
    rows.map(({ tenant }) => tenant),
    rows.map(({ model_id }) => model_id),
    rows.map(({ tool }) => tool),
    rows.map(({ schema_hash }) => schema_hash),
    rows.map(({ trials }) => trials),
    rows.map(({ successes }) => successes),
    rows.map(({ last_used }) => last_used),
    rows.map(({ details }) => details),
  ])
}

const keyOf = ({
  tenant,
  model_id,
  tool,
  schema_hash,
}: Omit<TenantRow, 'details' | 'trials' | 'successes' | 'last_used'>) =>
  JSON.stringify([tenant, model_id, tool, schema_hash])
