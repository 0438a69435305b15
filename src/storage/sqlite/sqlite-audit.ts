import type { SQLInputValue } from 'node:sqlite'
import type { ChainRow, LedgerTables } from '../ledger/ledger-tables.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

type Filter = Parameters<LedgerTables['rows']>[0]
type Place = Parameters<LedgerTables['rows']>[1]

const SELECT_ROWS = `SELECT chains.name AS chain, seq, at, tenant, caller, source, run_id AS runId, tool,
  schema_hash AS schemaHash, params_hash AS paramsHash, outcome, code, duration_ms AS durationMs, attempts, hash
  FROM audit JOIN chains ON chains.id = audit.chain WHERE`

/** The rows of all chains. */
export class SqliteAudit {
  readonly #database: SqliteDatabase
  readonly #ids = new Map<string, number>()

  constructor(database: SqliteDatabase) {
    this.#database = database
  }

  /** The number of a chain, which it gets where it has none; not inside a transaction, which may be undone. */
  chainOf(name: string): number {
    let id = this.#ids.get(name)
    if (id === undefined) {
      this.#database.run('INSERT INTO chains (name) VALUES (?) ON CONFLICT (name) DO NOTHING', name)
      id = this.findChain(name) as number
      this.#ids.set(name, id)
    }
    return id
  }

  findChain(name: string): number | undefined {
    return this.#database.get<{ id: number }>('SELECT id FROM chains WHERE name = ?', name)?.id
  }

  put(row: ChainRow): void {
    this.#database
      .statement(
        `INSERT INTO audit (chain, seq, at, tenant, caller, source, run_id, tool, schema_hash, params_hash, outcome,
           code, duration_ms, attempts, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        this.#ids.get(row.chain) as number,
        row.seq,
        row.at,
        row.tenant,
        row.caller,
        row.source,
        row.runId,
        row.tool,
        row.schemaHash,
        row.paramsHash,
        row.outcome,
        row.code,
        row.durationMs,
        row.attempts,
        row.hash,
      )
  }

  rows(filter: Filter, before: Place): readonly ChainRow[] {
    const conditions: string[] = []
    const values: SQLInputValue[] = []
    const where = (condition: string, ...given: (SQLInputValue | undefined)[]) => {
      if (given.includes(undefined)) return
      conditions.push(condition)
      values.push(...(given as SQLInputValue[]))
    }
    where('tenant = ?', filter.tenant)
    where('tool = ?', filter.tool)
    where('caller = ?', filter.caller)
    where('run_id = ?', filter.runId)
    where('outcome = ?', filter.outcome)
    where('code = ?', filter.errorCode)
    where('at >= ?', filter.from)
    where('at < ?', filter.to)
    if (before !== undefined) {
      // A chain that nobody knows comes from a cursor that was made up: the numbers begin at 1.
      where('(at, audit.chain, seq) < (?, ?, ?)', before.at, this.findChain(before.chain) ?? 0, before.seq)
    }
    const sql = [
      SELECT_ROWS,
      conditions.join(' AND ') || 'true',
      'ORDER BY at DESC, audit.chain DESC, seq DESC LIMIT ?',
    ]
    return this.#database.all<ChainRow>(sql.join(' '), ...values, filter.limit).map((row) => ({ ...row }))
  }

  stretch(chain: string, fromSeq: number, limit: number): readonly ChainRow[] {
    const sql = [SELECT_ROWS, 'audit.chain = ? AND seq >= ? ORDER BY seq LIMIT ?'].join(' ')
    const rows = this.#database.all<ChainRow>(sql, this.findChain(chain) ?? 0, fromSeq, limit)
    return rows.map((row) => ({ ...row }))
  }
}
