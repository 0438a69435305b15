import type { SQLInputValue } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import type { ChainRow, LedgerTables } from '../ledger/ledger-tables.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

type Filter = Parameters<LedgerTables['rows']>[0]

/** The place of a row among all: what the indexes end with. */
interface Place {
  readonly at: number
  readonly chain: number
  readonly seq: number
}

/** To look at so many rows takes some 20 ms. */
const SLICE_ROWS = 20_000
const NEWEST_FIRST = 'ORDER BY at DESC, audit.chain DESC, seq DESC'
const SELECT_ROWS = `SELECT chains.name AS chain, seq, at, tenant, caller, source, run_id AS runId, tool,
  schema_hash AS schemaHash, params_hash AS paramsHash, outcome, code, duration_ms AS durationMs, attempts, hash
  FROM audit JOIN chains ON chains.id = audit.chain WHERE`

/** So many rows for each time that a statement is run; with more, it gets slower again. */
const AT_ONCE = 10
const INSERT = `INSERT INTO audit (chain, seq, at, tenant, caller, source, run_id, tool, schema_hash, params_hash,
  outcome, code, duration_ms, attempts, hash) VALUES`
const VALUES = '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'
const INSERT_ONE = [INSERT, VALUES].join(' ')
const INSERT_MANY = [INSERT, new Array(AT_ONCE).fill(VALUES).join(', ')].join(' ')

/** The rows of all chains. */
export class SqliteAudit {
  readonly #database: SqliteDatabase
  readonly #sliceRows: number
  readonly #ids = new Map<string, number>()

  constructor(database: SqliteDatabase, sliceRows = SLICE_ROWS) {
    this.#database = database
    this.#sliceRows = sliceRows
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

  /** Inside a transaction. */
  put(rows: readonly ChainRow[]): void {
    const many = this.#database.statement(INSERT_MANY)
    const one = this.#database.statement(INSERT_ONE)
    const last = rows.length - (rows.length % AT_ONCE)
    for (let first = 0; first < last; first += AT_ONCE) {
      const values: SQLInputValue[] = []
      for (let index = first; index < first + AT_ONCE; index++) this.#bind(rows[index] as ChainRow, values)
      many.run(...values)
    }
    for (let index = last; index < rows.length; index++) {
      const values: SQLInputValue[] = []
      this.#bind(rows[index] as ChainRow, values)
      one.run(...values)
    }
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
      row.schemaHash,
      row.paramsHash,
      row.outcome,
      row.code,
      row.durationMs,
      row.attempts,
      row.hash,
    )
  }

  /** Newest first. Where few rows are looked for among many, others get their turn in between. */
  async rows(filter: Filter, before: Parameters<LedgerTables['rows']>[1]): Promise<readonly ChainRow[]> {
    const { tenant, tool, caller, runId, outcome, errorCode, from, to, limit } = filter
    // A chain that nobody knows comes from a cursor that was made up: the numbers begin at 1.
    const end = before && { ...before, chain: this.findChain(before.chain) ?? 0 }
    const least = from === undefined ? undefined : startOf(from)
    let most = earlier(end, to === undefined ? undefined : startOf(to))
    const isRare = runId === undefined && [tool, caller, outcome, errorCode].some((each) => each !== undefined)
    const found: ChainRow[] = []
    for (;;) {
      const start = isRare ? this.#slice(tenant, least, most) : undefined
      found.push(...this.#page(filter, start ?? least, most, limit - found.length))
      if (start === undefined || found.length === limit) return found
      most = start
      await turn()
    }
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

  /** Where the next slice of rows begins; undefined where the rest is no longer than that. */
  #slice(tenant: string | undefined, least: Place | undefined, most: Place | undefined): Place | undefined {
    const where = new Conditions()
    where.add('tenant = ?', tenant)
    where.between(least, most)
    const sql = ['SELECT at, chain, seq FROM audit WHERE', where.text, NEWEST_FIRST, 'LIMIT 1 OFFSET ?'].join(' ')
    return this.#database.get<Place>(sql, ...where.values, this.#sliceRows - 1)
  }

  stretch(chain: string, fromSeq: number, limit: number): readonly ChainRow[] {
    const sql = [SELECT_ROWS, 'audit.chain = ? AND seq >= ? ORDER BY seq LIMIT ?'].join(' ')
    const rows = this.#database.all<ChainRow>(sql, this.findChain(chain) ?? 0, fromSeq, limit)
    return rows.map((row) => ({ ...row }))
  }
}

/** What a statement asks for, with the values that are bound to it. */
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

  /** Both bounds of the same form: only so does an index serve both. */
  between(least: Place | undefined, most: Place | undefined): void {
    this.add('(at, audit.chain, seq) >= (?, ?, ?)', least?.at, least?.chain, least?.seq)
    this.add('(at, audit.chain, seq) < (?, ?, ?)', most?.at, most?.chain, most?.seq)
  }
}

/** Before all rows of that time. */
const startOf = (at: number): Place => ({ at, chain: 0, seq: 0 })

const earlier = (a: Place | undefined, b: Place | undefined): Place | undefined => {
  if (a === undefined || b === undefined) return a ?? b
  return (a.at - b.at || a.chain - b.chain || a.seq - b.seq) < 0 ? a : b
}
