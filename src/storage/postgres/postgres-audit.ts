import type { ChainRow, LedgerTables } from '../ledger/ledger-tables.ts'
import { replaceNul } from '../nul.ts'
import type { Statements } from './postgres-database.ts'

type Filter = Parameters<LedgerTables['rows']>[0]
type Place = Parameters<LedgerTables['rows']>[1]

const ADD_CHAINS = `
  INSERT INTO toolyard.chains (name) SELECT unnest($1::text[]) ON CONFLICT (name) DO NOTHING`

const ADD_ROWS = `
  INSERT INTO toolyard.audit (chain, seq, at, tenant, caller, source, run_id, tool, schema_hash, params_hash, outcome,
    code, duration_ms, attempts, hash, model)
  SELECT chains.id, r.seq, r.at, r.tenant, r.caller, r.source, r.run_id, r.tool, r.schema_hash, r.params_hash,
    r.outcome, r.code, r.duration_ms, r.attempts, r.hash, r.model
  FROM unnest($1::text[], $2::bigint[], $3::double precision[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::double precision[], $14::bigint[], $15::text[],
    $16::text[])
    AS r (chain, seq, at, tenant, caller, source, run_id, tool, schema_hash, params_hash, outcome, code, duration_ms,
      attempts, hash, model)
  JOIN toolyard.chains ON chains.name = r.chain`

/**
 * A filter that is not set is null, and no part of the plan that is made for these values. Only what failed has a
 * code: said in addition, so that the index of failures serves.
 */
const ROWS = `
  SELECT chains.name AS chain, seq, at, tenant, caller, source, run_id AS "runId", tool, model, schema_hash AS "schemaHash",
    params_hash AS "paramsHash", outcome, code, duration_ms AS "durationMs", attempts, hash
  FROM toolyard.audit JOIN toolyard.chains ON chains.id = audit.chain
  WHERE ($1::text IS NULL OR tenant = $1)
    AND ($2::text IS NULL OR tool = $2)
    AND ($3::text IS NULL OR caller = $3)
    AND ($4::text IS NULL OR run_id = $4)
    AND ($5::text IS NULL OR outcome = $5)
    AND ($6::text IS NULL OR code = $6 AND outcome <> 'success')
    AND ($7::double precision IS NULL OR at >= $7)
    AND ($8::double precision IS NULL OR at < $8)
    AND ($9::double precision IS NULL OR (at, audit.chain, seq)
      < ($9, coalesce((SELECT id FROM toolyard.chains WHERE name = $10), 0), $11::bigint))
  ORDER BY at DESC, audit.chain DESC, seq DESC LIMIT $12`

const STRETCH = `
  SELECT chains.name AS chain, seq, at, tenant, caller, source, run_id AS "runId", tool, model, schema_hash AS "schemaHash",
    params_hash AS "paramsHash", outcome, code, duration_ms AS "durationMs", attempts, hash
  FROM toolyard.audit JOIN toolyard.chains ON chains.id = audit.chain
  WHERE chains.name = $1 AND seq >= $2 ORDER BY seq LIMIT $3`

/** Gives every chain that is named a number; on its own, so that its lock is not held while rows are written. */
export async function addChains(statements: Statements, names: readonly string[]): Promise<void> {
  await statements.run(ADD_CHAINS, [names])
}

/** All rows in one statement, whose chains must be known. */
export async function addRows(statements: Statements, rows: readonly ChainRow[]): Promise<void> {
  const text = (of: (row: ChainRow) => string | null) => rows.map((row) => replaceNul(of(row)))
  await statements.run(ADD_ROWS, [
    rows.map((row) => row.chain),
    rows.map((row) => row.seq),
    rows.map((row) => row.at),
    text((row) => row.tenant),
    text((row) => row.caller),
    text((row) => row.source),
    text((row) => row.runId),
    text((row) => row.tool),
    text((row) => row.schemaHash),
    text((row) => row.paramsHash),
    rows.map((row) => row.outcome),
    text((row) => row.code),
    rows.map((row) => row.durationMs),
    rows.map((row) => row.attempts),
    rows.map((row) => row.hash),
    text((row) => row.model),
  ])
}

export async function findRows(statements: Statements, filter: Filter, before: Place): Promise<readonly ChainRow[]> {
  const { tenant, tool, caller, runId, outcome, errorCode, from, to, limit } = filter
  const values = [tenant, tool, caller, runId, outcome, errorCode, from, to, before?.at, before?.chain, before?.seq]
  const { rows } = await statements.run<ChainRow>(ROWS, [...values, limit])
  return rows
}

export async function readStretch(
  statements: Statements,
  chain: string,
  fromSeq: number,
  limit: number,
): Promise<readonly ChainRow[]> {
  const { rows } = await statements.run<ChainRow>(STRETCH, [chain, fromSeq, limit])
  return rows
}
