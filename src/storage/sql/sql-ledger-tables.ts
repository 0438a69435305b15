import { setImmediate as turn } from 'node:timers/promises'
import { auditColumns, COLUMN_TYPES } from '../../core/records/audit-columns.ts'
import type { VersionCall } from '../../core/storage/ledger.ts'
import type { Cell, ChainRow, LedgerTables, Seal } from '../ledger/ledger-tables.ts'
import { storedValues } from '../ledger/row-code.ts'
import { type Answer, ask, type Database, placeholders, type Statement, Where, type Work } from './database.ts'
import { addPayloads } from './payloads.ts'
import { insertRuns } from './runs.ts'
import { addSpending } from './spending.ts'

type Filter = Parameters<LedgerTables['rows']>[0]
type Batch = Parameters<LedgerTables['write']>[0]

/** A search without an index reads all rows of a tenant. */
const SEARCH_TIMEOUT_MS = 30_000
/** Removal runs in the background and may remove many rows. */
const REMOVAL_TIMEOUT_MS = 300_000

/** The columns of the table, with their types in PostgreSQL. */
const STORED_COLUMNS = {
  chain: 'integer',
  seq: 'bigint',
  at: 'double precision',
  ...Object.fromEntries(auditColumns.map(({ name, type }) => [name, COLUMN_TYPES[type].postgres])),
  hash: 'text',
}
const SELECTED = ['chains.name AS chain, seq, at', ...auditColumns.map(({ name }) => name), 'hash']
const selectRows = (...more: readonly string[]) => {
  const from = 'FROM toolyard.audit JOIN toolyard.chains ON chains.id = audit.chain WHERE'
  return ['SELECT', [...SELECTED, ...more].join(', '), from].join(' ')
}
const SELECT_ROWS = selectRows()
/** A subquery for each row of the page: the engines read no other payloads. */
const SELECT_ROWS_WITH_PAYLOADS = selectRows(`
    (SELECT substr(content, 1, ?) FROM toolyard.payloads
      WHERE payloads.chain = audit.chain AND payloads.seq = audit.seq) AS "payloadStart"`)
const NEWEST_FIRST = 'ORDER BY at DESC, audit.chain DESC, seq DESC LIMIT'
/** Not a comparison of `seq` itself, so that it does not change which index SQLite uses. */
const IS_SAFE = 'abs(CAST(seq AS double precision)) < 9007199254740992'
const CHAIN_ID = '(SELECT id FROM toolyard.chains WHERE name = ?)'

/** The subquery for one row is faster than EXISTS: PostgreSQL would read all rows for that. */
const CHAINS = `
  FROM toolyard.chains
  WHERE (SELECT seq FROM toolyard.audit WHERE audit.chain = chains.id ORDER BY seq LIMIT 1) IS NOT NULL
    OR EXISTS (SELECT 1 FROM toolyard.seals WHERE seals.chain = chains.id)
  ORDER BY name`

const SELECT_SEALS = `
  SELECT chains.name AS chain, from_seq AS "fromSeq", to_seq AS "toSeq", before_hash AS "beforeHash",
    last_hash AS "lastHash", first_at AS "firstAt", last_at AS "lastAt", sealed_at AS "sealedAt", mac,
    expired_at AS "expiredAt"
  FROM toolyard.seals JOIN toolyard.chains ON chains.id = seals.chain WHERE`
const ADD_SEAL = `
  INSERT INTO toolyard.seals (chain, from_seq, to_seq, before_hash, last_hash, first_at, last_at, sealed_at, mac,
    expired_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (chain, from_seq) DO NOTHING`
const REPLACE_SEAL = 'UPDATE toolyard.seals SET mac = ? WHERE chain = ? AND from_seq = ? AND mac = ?'
const NO_RECORD = 'null'
const SEAL_RECORD = "SELECT value FROM toolyard.settings WHERE kind = 'audit' AND name = 'seals'"
/** Locks the record, also if there is none yet. */
const LOCK_RECORD = `
  INSERT INTO toolyard.settings (kind, name, value) VALUES ('audit', 'seals', ?)
  ON CONFLICT (kind, name) DO UPDATE SET value = settings.value RETURNING value`
const SET_RECORD = "UPDATE toolyard.settings SET value = ? WHERE kind = 'audit' AND name = 'seals'"

const CELL_COLUMNS = {
  width: 'text',
  kind: 'text',
  tenant: 'text',
  start: 'double precision',
  tool: 'text',
  model: 'text',
  instance: 'text',
  data: 'bytea',
}

/** The place of a row in the order of the audit. */
interface Place {
  readonly at: number
  readonly chain: number
  readonly seq: number
}

/** The tables of the ledger: audit rows, seals, figures, and the runs it writes. */
export class SqlLedgerTables implements LedgerTables {
  readonly #database: Database
  readonly #chains = new Map<string, number>()

  constructor(database: Database) {
    this.#database = database
  }

  async write(batch: Batch): Promise<void> {
    const chains = new Map<string, number>()
    for (const { chain } of batch.rows) if (!chains.has(chain)) chains.set(chain, await this.#createChain(chain))
    await this.#database.transaction(() => writeBatch(this.#database, batch, chains))
  }

  /** A search that reads many rows lets other work run in between. */
  async rows(...[filter, before]: Parameters<LedgerTables['rows']>): ReturnType<LedgerTables['rows']> {
    const { tenant, type, tool, caller, runId, outcome, errorCode, from, to, limit, payloadCharacters } = filter
    // An unknown chain comes from a made-up cursor: numbers begin at 1.
    const end = before && { ...before, chain: (await this.#chainId(before.chain)) ?? 0 }
    const least = from === undefined ? undefined : startOf(from)
    let most = earlier(end, to === undefined ? undefined : startOf(to))
    const isIndexed = runId !== undefined || type === 'event'
    const isRare = !isIndexed && [tool, caller, outcome, errorCode].some((each) => each !== undefined)
    const [select, selected] =
      payloadCharacters === undefined ? [SELECT_ROWS, []] : [SELECT_ROWS_WITH_PAYLOADS, [payloadCharacters]]
    const found: ChainRow[] = []
    for (;;) {
      const start = isRare ? await this.#sliceStart(tenant, least, most) : undefined
      const where = rowsWhere(filter, start ?? least, most)
      const sql = [select, where.sql, NEWEST_FIRST, '?'].join(' ')
      const values = [...selected, ...where.values, limit - found.length]
      found.push(...(await this.#database.run<ChainRow>(sql, values, SEARCH_TIMEOUT_MS)).rows)
      if (start === undefined || found.length === limit) return found
      most = start
      await turn()
    }
  }

  async row(chain: string, seq: number): Promise<(ChainRow & { readonly payload: string | null }) | undefined> {
    const [row] = await this.stretch(chain, seq, 1)
    if (row?.seq !== seq) return undefined
    const sql = ['SELECT content FROM toolyard.payloads WHERE chain =', CHAIN_ID, 'AND seq = ?'].join(' ')
    const { rows } = await this.#database.run<{ content: string }>(sql, [chain, seq])
    return { ...row, payload: rows[0]?.content ?? null }
  }

  async versionCalls(...[query, without]: Parameters<LedgerTables['versionCalls']>): Promise<readonly VersionCall[]> {
    const { tenant, tool, version, from, limit } = query
    const where = new Where().and('tool = ?', tool).and('version = ?', version).and('at >= ?', from)
    where.and('tenant = ?', tenant)
    const codes = without.map(() => '?').join(', ')
    const sql = [
      'SELECT at, outcome, duration_ms AS ms, cost FROM toolyard.audit WHERE',
      ...[where.sql, 'AND (code IS NULL OR code NOT IN (', codes, ')) ORDER BY at LIMIT ?'],
    ].join(' ')
    const { rows } = await this.#database.run<{ at: number; outcome: string; ms: number; cost: number | null }>(
      sql,
      [...where.values, ...without, limit],
      SEARCH_TIMEOUT_MS,
    )
    return rows.map(({ at, outcome, ms, cost }) => ({ at, failed: outcome !== 'success', ms, cost }))
  }

  async chains(): Promise<readonly { readonly chain: string; readonly alive: boolean }[]> {
    const alive = this.#database.alive('name')
    const sql = ['SELECT name AS chain,', alive.sql, 'AS alive', CHAINS].join(' ')
    const { rows } = await this.#database.run<{ chain: string; alive: boolean | number }>(sql, alive.values)
    return rows.map((row) => ({ chain: row.chain, alive: Boolean(row.alive) }))
  }

  async stretch(chain: string, fromSeq: number, limit: number): Promise<readonly ChainRow[]> {
    const sql = [SELECT_ROWS, 'audit.chain =', CHAIN_ID, 'AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?'].join(' ')
    return (await this.#database.run<ChainRow>(sql, [chain, fromSeq, Number.MAX_SAFE_INTEGER, limit])).rows
  }

  async misnumbered(chain: string, limit: number): Promise<readonly string[]> {
    const found: string[] = []
    // Two statements: with OR, SQLite would read all rows of the chain.
    for (const [beyond, bound] of [
      ['seq < ?', Number.MIN_SAFE_INTEGER],
      ['seq > ?', Number.MAX_SAFE_INTEGER],
    ] as const) {
      const select = ['SELECT CAST(seq AS text) AS number FROM toolyard.audit WHERE chain =', CHAIN_ID, 'AND', beyond]
      const sql = [...select, 'ORDER BY audit.seq LIMIT ?'].join(' ')
      const { rows } = await this.#database.run<{ number: string }>(sql, [chain, bound, limit - found.length])
      found.push(...rows.map(({ number }) => number))
    }
    return found
  }

  async seals(chain: string): Promise<readonly Seal[]> {
    const sql = [SELECT_SEALS, 'chains.name = ? ORDER BY from_seq'].join(' ')
    return (await this.#database.run<Seal>(sql, [chain])).rows
  }

  async sealRecord(): Promise<string | null> {
    return recordIn(await this.#database.run<{ value: string }>(SEAL_RECORD))
  }

  async putSeal(...[name, make, replaces]: Parameters<LedgerTables['putSeal']>): Promise<boolean> {
    const chain = await this.#createChain(name)
    return this.#database.transaction(function* () {
      const { seal, record } = make(recordIn(yield* ask<{ value: string }>(LOCK_RECORD, [NO_RECORD])))
      const { fromSeq, toSeq, beforeHash, lastHash, firstAt, lastAt, sealedAt, mac, expiredAt } = seal
      const values = [chain, fromSeq, toSeq, beforeHash, lastHash, firstAt, lastAt, sealedAt, mac, expiredAt]
      const { count } = yield* replaces === undefined
        ? ask(ADD_SEAL, values)
        : ask(REPLACE_SEAL, [mac, chain, fromSeq, replaces])
      if (count > 0) yield* ask(SET_RECORD, [record])
      return count > 0
    })
  }

  async expired(before: number): Promise<readonly Seal[]> {
    const sql = [SELECT_SEALS, 'expired_at IS NULL AND last_at < ? ORDER BY last_at, seals.chain, from_seq'].join(' ')
    return (await this.#database.run<Seal>(sql, [before])).rows
  }

  removeStretch({ chain, fromSeq, toSeq, expiredAt, mac }: Seal, replaces: string): Promise<number> {
    const mark = [
      'UPDATE toolyard.seals SET expired_at = ?, mac = ? WHERE chain =',
      CHAIN_ID,
      'AND from_seq = ? AND mac = ?',
    ]
    const remove = ['DELETE FROM toolyard.audit WHERE chain =', CHAIN_ID, 'AND seq BETWEEN ? AND ?']
    return this.#database.transaction(function* () {
      const { count } = yield* ask(mark.join(' '), [expiredAt, mac, chain, fromSeq, replaces])
      if (count === 0) return 0
      return (yield* ask(remove.join(' '), [chain, fromSeq, toSeq])).count
    }, REMOVAL_TIMEOUT_MS)
  }

  async cells(query: Parameters<LedgerTables['cells']>[0]): Promise<readonly Cell[]> {
    const { tenant, kind, width, from, to, tool } = query
    const where = new Where().and('width = ?', width).and('kind = ?', kind).and('start >= ?', from)
    where.and('tenant = ?', tenant).and('start < ?', to).and('tool = ?', tool)
    const sql = ['SELECT width, start, tenant, kind, tool, model, data FROM toolyard.cells WHERE', where.sql].join(' ')
    const { rows } = await this.#database.run<Cell>(sql, where.values)
    // PostgreSQL gives Buffers, which are views of larger memory.
    return rows.map(({ data, ...cell }) => ({
      ...cell,
      data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
    }))
  }

  async removeCells(width: Cell['width'], before: number, kinds: readonly Cell['kind'][]): Promise<number> {
    const sql = ['DELETE FROM toolyard.cells WHERE width = ? AND start < ? AND kind IN', placeholders(kinds)].join(' ')
    return (await this.#database.run(sql, [width, before, ...kinds], REMOVAL_TIMEOUT_MS)).count
  }

  async removeRuns(before: number): Promise<number> {
    const sql = 'DELETE FROM toolyard.runs WHERE started_at < ?'
    return (await this.#database.run(sql, [new Date(before).toISOString()], REMOVAL_TIMEOUT_MS)).count
  }

  async #chainId(name: string): Promise<number | undefined> {
    const { rows } = await this.#database.run<{ id: number }>('SELECT id FROM toolyard.chains WHERE name = ?', [name])
    return rows[0]?.id
  }

  /** Outside of the transaction that writes the rows, so that its lock on the chain is short. */
  async #createChain(name: string): Promise<number> {
    let id = this.#chains.get(name)
    if (id === undefined) {
      await this.#database.run('INSERT INTO toolyard.chains (name) VALUES (?) ON CONFLICT (name) DO NOTHING', [name])
      id = (await this.#chainId(name)) as number
      this.#chains.set(name, id)
    }
    return id
  }

  /** The place where the next slice of rows begins; undefined if the rest is one slice. */
  async #sliceStart(
    tenant: string | undefined,
    least: Place | undefined,
    most: Place | undefined,
  ): Promise<Place | undefined> {
    const { sliceRows } = this.#database
    if (sliceRows === undefined) return undefined
    const where = rowsWhere({ tenant, limit: 1 }, least, most)
    const sql = ['SELECT at, chain, seq FROM toolyard.audit WHERE', where.sql, NEWEST_FIRST, '1 OFFSET ?'].join(' ')
    return (await this.#database.run<Place>(sql, [...where.values, sliceRows - 1])).rows[0]
  }
}

const recordIn = ({ rows: [row] }: Answer<{ value: string }>): string | null =>
  row === undefined || row.value === NO_RECORD ? null : row.value

/**
 * Not a generator expression: for each evaluation of one, V8 makes a hidden class in the old generation, which keeps what the
 * expression refers to, all rows, until the next major collection.
 */
function* writeBatch(
  database: Database,
  { rows, runs, cells, calls = [], turns = [] }: Batch,
  chains: ReadonlyMap<string, number>,
): Work<void> {
  if (rows.length > 0) yield insertRows(database, rows, chains)
  if (runs.length > 0) yield insertRuns(database, runs)
  if (cells.length > 0) yield insertCells(database, cells)
  yield* addPayloads(database, rows, calls, chains)
  // Last, so that the rows of the counters are locked for a short time.
  if (calls.length + turns.length > 0) yield* addSpending(database, calls, turns)
}

function insertRows(database: Database, rows: readonly ChainRow[], chains: ReadonlyMap<string, number>): Statement {
  const values = rows.map((row) => storedValues(chains.get(row.chain) as number, row))
  return database.insert('toolyard.audit', STORED_COLUMNS, values)
}

function insertCells(database: Database, cells: readonly Cell[]): Statement {
  const [instance] = database.names
  // One statement must not write a row twice; the last cell of a name counts.
  const byName = new Map<string, readonly unknown[]>()
  for (const { width, kind, tenant, start, tool, model, data } of cells) {
    const name = [width, kind, tenant, start, tool, model]
    byName.set(JSON.stringify(name), [...name, instance, data])
  }
  const update = 'ON CONFLICT (width, kind, tenant, start, tool, model, instance) DO UPDATE SET data = excluded.data'
  return database.insert('toolyard.cells', CELL_COLUMNS, [...byName.values()], update)
}

function rowsWhere(filter: Filter, least: Place | undefined, most: Place | undefined): Where {
  const { tenant, type, tool, caller, runId, outcome, errorCode } = filter
  const where = new Where().and(IS_SAFE)
  if (type !== undefined) where.and(type === 'event' ? 'event IS NOT NULL' : 'event IS NULL')
  where
    .and('tenant = ?', tenant)
    .and('tool = ?', tool)
    .and('caller = ?', caller)
    .and('run_id = ?', runId)
    .and('outcome = ?', outcome)
    // Only failures have a code: PostgreSQL needs the second condition to use its index of failures.
    .and("code = ? AND outcome <> 'success'", errorCode)
  // Both bounds have the same form: only then does SQLite use the index for both.
  return where
    .and('(at, audit.chain, seq) >= (?, ?, ?)', least?.at, least?.chain, least?.seq)
    .and('(at, audit.chain, seq) < (?, ?, ?)', most?.at, most?.chain, most?.seq)
}

/** The place before all rows of that time. */
const startOf = (at: number): Place => ({ at, chain: 0, seq: 0 })

const earlier = (a: Place | undefined, b: Place | undefined): Place | undefined => {
  if (a === undefined || b === undefined) return a ?? b
  return (a.at - b.at || a.chain - b.chain || a.seq - b.seq) < 0 ? a : b
}
