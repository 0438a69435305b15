import type { SQLInputValue } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import type { ChainRow, LedgerTables } from '../ledger/ledger-tables.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

type Filter = Parameters<LedgerTables['rows']>[0]

/** The place of a row in the order of the indexes. */
interface Place {
  readonly at: number
  readonly chain: number
  readonly seq: number
}

/** Reading this many rows takes about 20 ms. */
const SLICE_ROWS = 20_000
const NEWEST_FIRST = 'ORDER BY at DESC, audit.chain DESC, seq DESC'
const SELECT_ROWS = `SELECT chains.name AS chain, seq, at, tenant, caller, source, run_id AS runId, tool, model,
  schema_hash AS schemaHash, params_hash AS paramsHash, outcome, code, duration_ms AS durationMs, attempts, hash
  FROM audit JOIN chains ON chains.id = audit.chain WHERE`

/** Ten rows per statement: fewer and more are both slower. */
const ROWS_PER_INSERT = 10
const INSERT = `INSERT INTO audit (chain, seq, at, tenant, caller, source, run_id, tool, model, schema_hash, params_hash,
  outcome, code, duration_ms, attempts, hash) VALUES`
const VALUES = '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'
const INSERT_ONE = [INSERT, VALUES].join(' ')
const INSERT_MANY = [INSERT, new Array(ROWS_PER_INSERT).fill(VALUES).join(', ')].join(' ')

/** The audit rows of all chains, one per call. */
export class SqliteAudit {
  readonly #database: SqliteDatabase
  readonly #sliceRows: number
  readonly #ids = new Map<string, number>()

  constructor(database: SqliteDatabase, sliceRows = SLICE_ROWS) {
    this.#database = database
    this.#sliceRows = sliceRows
  }

  /** Gives the number of a chain, and creates it if it has none. Not for use in a transaction: that may be rolled back. */
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

  /**
   * Adds rows, inside a transaction; `chainOf` must have been called for their chains. Rows are added tenant by tenant:
   * neighbours in the index by tenant are twice as fast to write.
   */
  put(batch: readonly ChainRow[]): void {
    const rows = [...Map.groupBy(batch, ({ tenant }) => tenant).values()].flat()
    const whole = rows.length - (rows.length % ROWS_PER_INSERT)
    for (let index = 0; index < rows.length; ) {
      const [sql, count] = index < whole ? [INSERT_MANY, ROWS_PER_INSERT] : [INSERT_ONE, 1]
      const values: SQLInputValue[] = []
      for (const end = index + count; index < end; index++) this.#bind(rows[index] as ChainRow, values)
      this.#database.statement(sql).run(...values)
    }
  }

  /** Newest first. A search that reads many rows lets other work run in between. */
  async rows(filter: Filter, before: Parameters<LedgerTables['rows']>[1]): Promise<readonly ChainRow[]> {
    const { tenant, tool, caller, runId, outcome, errorCode, from, to, limit } = filter
    // An unknown chain comes from a made-up cursor: numbers begin at 1.
    const end = before && { ...before, chain: this.findChain(before.chain) ?? 0 }
    const least = from === undefined ? undefined : startOf(from)
    let most = earlier(end, to === undefined ? undefined : startOf(to))
    const isRare = runId === undefined && [tool, caller, outcome, errorCode].some((each) => each !== undefined)
    const found: ChainRow[] = []
    for (;;) {
      const start = isRare ? this.#sliceStart(tenant, least, most) : undefined
      found.push(...this.#page(filter, start ?? least, most, limit - found.length))
      if (start === undefined || found.length === limit) return found
      most = start
      await turn()
    }
  }

  stretch(chain: string, fromSeq: number, limit: number): readonly ChainRow[] {
    const sql = [SELECT_ROWS, 'audit.chain = ? AND seq >= ? ORDER BY seq LIMIT ?'].join(' ')
    const rows = this.#database.all<ChainRow>(sql, this.findChain(chain) ?? 0, fromSeq, limit)
    return rows.map((row) => ({ ...row }))
  }

  remove(chain: number, fromSeq: number, toSeq: number): number {
    return this.#database.run('DELETE FROM audit WHERE chain = ? AND seq BETWEEN ? AND ?', chain, fromSeq, toSeq)
  }

  #bind(row: ChainRow, values: SQLInputValue[]): void {
    values.push(
      this.#ids.get(row.chain) as number,
      row.seq,
      row.at,
      row.tenant,
      row.caller,
      row.source,
      row.runId,
      row.tool,
      row.model,
      row.schemaHash,
      row.paramsHash,
      row.outcome,
      row.code,
      row.durationMs,
      row.attempts,
      row.hash,
    )
  }

  #page(filter: Filter, least: Place | undefined, most: Place | undefined, limit: number): readonly ChainRow[] {
    const where = new Conditions()
    where.add('tenant = ?', filter.tenant)
    where.add('tool = ?', filter.tool)
    where.add('caller = ?', filter.caller)
    where.add('run_id = ?', filter.runId)
    where.add('outcome = ?', filter.outcome)
    where.add('code = ?', filter.errorCode)
    where.between(least, most)
    const sql = [SELECT_ROWS, where.text, NEWEST_FIRST, 'LIMIT ?'].join(' ')
    return this.#database.all<ChainRow>(sql, ...where.values, limit).map((row) => ({ ...row }))
  }

  /** The place where the next slice of rows begins; undefined if the rest fits into one slice. */
  #sliceStart(tenant: string | undefined, least: Place | undefined, most: Place | undefined): Place | undefined {
    const where = new Conditions()
    where.add('tenant = ?', tenant)
    where.between(least, most)
    const sql = ['SELECT at, chain, seq FROM audit WHERE', where.text, NEWEST_FIRST, 'LIMIT 1 OFFSET ?'].join(' ')
    return this.#database.get<Place>(sql, ...where.values, this.#sliceRows - 1)
  }
}

/** The conditions of a statement, with the values bound to it. */
class Conditions {
  readonly values: SQLInputValue[] = []
  readonly #texts: string[] = []

  get text(): string {
    return this.#texts.join(' AND ') || 'true'
  }

  add(text: string, ...values: (SQLInputValue | undefined)[]): void {
    if (values.includes(undefined)) return
    this.#texts.push(text)
    this.values.push(...(values as SQLInputValue[]))
  }

  /** Both bounds have the same form: only then does SQLite use the index for both. */
  between(least: Place | undefined, most: Place | undefined): void {
    this.add('(at, audit.chain, seq) >= (?, ?, ?)', least?.at, least?.chain, least?.seq)
    this.add('(at, audit.chain, seq) < (?, ?, ?)', most?.at, most?.chain, most?.seq)
  }
}

/** The place before all rows of that time. */
const startOf = (at: number): Place => ({ at, chain: 0, seq: 0 })

const earlier = (a: Place | undefined, b: Place | undefined): Place | undefined => {
  if (a === undefined || b === undefined) return a ?? b
  return (a.at - b.at || a.chain - b.chain || a.seq - b.seq) < 0 ? a : b
}
