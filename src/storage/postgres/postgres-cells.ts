import type { Cell, LedgerTables } from '../ledger/ledger-tables.ts'
import { replaceNul } from '../nul.ts'
import type { Statements } from './postgres-database.ts'

const PUT = `
  INSERT INTO toolyard.cells (width, kind, tenant, start, tool, model, instance, data)
  SELECT c.width, c.kind, c.tenant, c.start, c.tool, c.model, $1, c.data
  FROM unnest($2::text[], $3::text[], $4::text[], $5::double precision[], $6::text[], $7::text[], $8::bytea[])
    AS c (width, kind, tenant, start, tool, model, data)
  ON CONFLICT (width, kind, tenant, start, tool, model, instance) DO UPDATE SET data = excluded.data`

const LIST = `
  SELECT width, start, tenant, kind, tool, model, data FROM toolyard.cells
  WHERE width = $1 AND kind = $2 AND start >= $3
    AND CASE WHEN $4::text IS NULL THEN tenant <> '*' ELSE tenant = $4 END
    AND ($5::text IS NULL OR tool = $5)
    AND ($6::double precision IS NULL OR start < $6)`

/** One statement for all; of several cells of one name the last counts. */
export async function putCells(statements: Statements, instance: string, cells: readonly Cell[]): Promise<void> {
  const byName = new Map<string, Cell>()
  for (const cell of cells) {
    const [tenant, tool, model] = [cell.tenant, cell.tool, cell.model].map(replaceNul) as [string, string, string]
    const { width, kind, start } = cell
    byName.set(JSON.stringify([width, kind, tenant, start, tool, model]), { ...cell, tenant, tool, model })
  }
  const all = [...byName.values()]
  await statements.run(PUT, [
    instance,
    all.map((cell) => cell.width),
    all.map((cell) => cell.kind),
    all.map((cell) => cell.tenant),
    all.map((cell) => cell.start),
    all.map((cell) => cell.tool),
    all.map((cell) => cell.model),
    all.map(({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength)),
  ])
}

export async function listCells(
  statements: Statements,
  { tenant, kind, width, from, to, tool }: Parameters<LedgerTables['cells']>[0],
): Promise<readonly Cell[]> {
  const { rows } = await statements.run<Cell>(LIST, [width, kind, from, tenant, tool, to])
  return rows.map(({ data, ...cell }) => ({
    ...cell,
    data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
  }))
}
