import type { SqliteDatabase } from './sqlite-database.ts'

const INSERT = `
  INSERT INTO audit (chain, seq, at, tenant, caller, source, run_id, tool, schema_hash, outcome, code, attempts,
    duration_ms, params_hash, hash)
  VALUES (?, ?, CAST(? AS INTEGER), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

interface Block {
  readonly id: number
  readonly chain: number
  readonly fromSeq: number
  readonly rows: string
}

/** The rows of a block, column by column; `alike` holds the values that several rows share, `kind` which of them. */
interface Columns {
  readonly alike: readonly (readonly (string | number | null)[])[]
  readonly kind: readonly number[]
  readonly at: readonly number[]
  readonly duration_ms: readonly number[]
  readonly params_hash: readonly (string | null)[]
  readonly hash: readonly string[]
}

/** Writes the blocks of the first edition, each with the calls of a batch, as one row per call. */
export function copyAuditBlocks(database: SqliteDatabase): void {
  const insert = database.statement(INSERT)
  for (let block = nextBlock(database, 0); block !== undefined; block = nextBlock(database, block.id)) {
    const { chain, fromSeq, rows } = block
    let columns: Columns
    try {
      columns = JSON.parse(rows)
    } catch {
      // The block is damaged: its rows are missing from the chain, and `audit verify` reports them.
      continue
    }
    for (const [index, kind] of columns.kind.entries()) {
      insert.run(
        chain,
        fromSeq + index,
        columns.at[index] as number,
        ...(columns.alike[kind] as (string | number | null)[]),
        columns.duration_ms[index] as number,
        columns.params_hash[index] as string | null,
        columns.hash[index] as string,
      )
    }
  }
}

const nextBlock = (database: SqliteDatabase, after: number): Block | undefined =>
  database.get<Block>(
    'SELECT id, chain, from_seq AS fromSeq, rows FROM audit_blocks WHERE id > ? ORDER BY id LIMIT 1',
    after,
  )
