import type { SQLInputValue } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import type { ChainRow, LedgerTables } from '../ledger/ledger-tables.ts'
import { refuseNul } from '../nul.ts'
import { packRows, unpackRows } from './audit-block.ts'
import { BestRows, startOf } from './best-rows.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

type Filter = Parameters<LedgerTables['rows']>[0]

/** Where a block stands among all, by the newest of its rows that are looked for. */
interface BlockPlace {
  readonly block: number
  readonly lastAt: number
}

interface Block {
  readonly chain: number
  readonly name: string
  readonly fromSeq: number
  readonly toSeq: number
  readonly rows: string
}

/** To look at so many rows takes some 20 ms. */
const SLICE_ROWS = 20_000
/** How many blocks are looked up at a time. */
const BLOCKS = 64
/** After everything that has a time. */
const END = { lastAt: Number.MAX_VALUE, block: 0 }

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
    for (const stretch of stretches(rows)) this.#putBlock(stretch)
  }

  /** Newest first. Where few rows are looked for among many, others get their turn in between. */
  async rows(filter: Filter, before: Parameters<LedgerTables['rows']>[1]): Promise<readonly ChainRow[]> {
    const { from = 0, to, limit } = filter
    refuseNul(Object.values(filter))
    // A chain that nobody knows comes from a cursor that was made up: the numbers begin at 1.
    const end = before && { ...before, chain: this.findChain(before.chain) ?? 0 }
    const best = new BestRows(filter, [end, to === undefined ? undefined : startOf(to)])
    const places = this.#places(filter, from, best.end?.at ?? Number.MAX_VALUE)
    let looked = 0
    for (const { block: id, lastAt } of places) {
      if (best.isFull(lastAt)) break
      const block = this.#block(id)
      if (block === undefined) continue
      const rows = unpackRows(block.name, block.fromSeq, block.rows)
      best.add(rows, block.chain)
      looked += rows.length
      if (looked < this.#sliceRows) continue
      looked = 0
      await turn()
    }
    return best.rows.slice(0, limit)
  }

  stretch(chain: string, fromSeq: number, limit: number): readonly ChainRow[] {
    const id = this.findChain(chain) ?? 0
    const blocks = this.#database.all<{ block: number }>(
      `SELECT id AS block FROM audit_blocks WHERE chain = ? AND from_seq >= coalesce(
         (SELECT max(from_seq) FROM audit_blocks WHERE chain = ? AND from_seq <= ?), 0)
       ORDER BY from_seq LIMIT ?`,
      id,
      id,
      fromSeq,
      limit + 1,
    )
    const found: ChainRow[] = []
    for (const { block } of blocks) {
      const { rows, ...head } = this.#block(block) as Block
      for (const row of unpackRows(chain, head.fromSeq, rows)) if (row.seq >= fromSeq) found.push(row)
      if (found.length >= limit) break
    }
    return found.slice(0, limit)
  }

  /** Inside a transaction; gives how many rows went. A block that is only partly meant keeps the rest of its rows. */
  remove(chain: number, fromSeq: number, toSeq: number): number {
    const touched = `FROM audit_blocks JOIN chains ON chains.id = chain
      WHERE chain = ? AND from_seq <= ? AND to_seq >= ?`
    const partly = this.#database.all<Block>(
      [
        'SELECT chain, name, from_seq AS fromSeq, to_seq AS toSeq, rows',
        touched,
        'AND (from_seq < ? OR to_seq > ?)',
      ].join(' '),
      chain,
      toSeq,
      fromSeq,
      fromSeq,
      toSeq,
    )
    const sum = 'SELECT coalesce(sum(min(to_seq, ?) - max(from_seq, ?) + 1), 0) AS rows'
    const gone = this.#database.get<{ rows: number }>(
      [sum, touched].join(' '),
      toSeq,
      fromSeq,
      chain,
      toSeq,
      fromSeq,
    )?.rows
    const ids = ['(SELECT audit_blocks.id', touched, ')'].join(' ')
    for (const [table, column] of [
      ['audit_tenants', 'block'],
      ['audit_runs', 'block'],
      ['audit_blocks', 'id'],
    ]) {
      this.#database.run(['DELETE FROM', table, 'WHERE', column, 'IN', ids].join(' '), chain, toSeq, fromSeq)
    }
    for (const { name, rows, fromSeq: first } of partly) {
      this.put(unpackRows(name, first, rows).filter(({ seq }) => seq < fromSeq || seq > toSeq))
    }
    return gone ?? 0
  }

  #putBlock(rows: readonly ChainRow[]): void {
    const [first, last] = [rows[0] as ChainRow, rows.at(-1) as ChainRow]
    const chain = this.chainOf(first.chain)
    const there = this.#database.get<{ seq: number }>(
      'SELECT to_seq AS seq FROM audit_blocks WHERE chain = ? AND from_seq <= ? ORDER BY from_seq DESC LIMIT 1',
      chain,
      last.seq,
    )
    if (there !== undefined && there.seq >= first.seq) {
      throw new Error(`Row ${first.seq} of the audit chain '${first.chain}' is there already`)
    }
    const tenants = spans(rows)
    const times = [...tenants.values()]
    const block = this.#database.insert(
      'INSERT INTO audit_blocks (chain, from_seq, to_seq, first_at, last_at, rows) VALUES (?, ?, ?, ?, ?, ?)',
      chain,
      first.seq,
      last.seq,
      Math.min(...times.map(({ firstAt }) => firstAt)),
      Math.max(...times.map(({ lastAt }) => lastAt)),
      packRows(rows),
    )
    for (const [tenant, { firstAt, lastAt }] of tenants) {
      const sql = 'INSERT INTO audit_tenants (tenant, last_at, first_at, block) VALUES (?, ?, ?, ?)'
      this.#database.run(sql, tenant, lastAt, firstAt, block)
    }
    for (const run of new Set(rows.map(({ runId }) => runId))) {
      if (run !== null) this.#database.run('INSERT INTO audit_runs (run_id, block) VALUES (?, ?)', run, block)
    }
  }

  #block(id: number): Block | undefined {
    return this.#database.get<Block>(
      `SELECT chain, name, from_seq AS fromSeq, to_seq AS toSeq, rows
       FROM audit_blocks JOIN chains ON chains.id = chain WHERE audit_blocks.id = ?`,
      id,
    )
  }

  /** The blocks that may hold such rows, those with the newest ones first. */
  *#places({ tenant, runId }: Filter, from: number, until: number): Generator<BlockPlace> {
    const bounds = 'first_at <= ? AND last_at >= ? AND (last_at, audit.block) < (?, ?)'
    const order = 'ORDER BY last_at DESC, audit.block DESC LIMIT ?'
    let table = '(SELECT id AS block, first_at, last_at FROM audit_blocks) AS audit'
    if (tenant !== undefined) table = 'audit_tenants AS audit'
    const of: SQLInputValue[] = []
    const conditions: string[] = []
    if (tenant !== undefined) {
      conditions.push('tenant = ?')
      of.push(tenant)
    }
    if (runId !== undefined) {
      conditions.push('audit.block IN (SELECT block FROM audit_runs WHERE run_id = ?)')
      of.push(runId)
    }
    const sql = [
      'SELECT audit.block AS block, last_at AS lastAt FROM',
      table,
      'WHERE',
      [...conditions, bounds].join(' AND '),
      order,
    ].join(' ')
    let last: BlockPlace = END
    for (;;) {
      const page = this.#database.all<BlockPlace>(sql, ...of, until, from, last.lastAt, last.block, BLOCKS)
      yield* page
      if (page.length < BLOCKS) return
      last = page.at(-1) as BlockPlace
    }
  }
}

/** Rows of one chain that follow each other. */
function stretches(rows: readonly ChainRow[]): Iterable<readonly ChainRow[]> {
  const open = new Map<string, ChainRow[]>()
  const all: ChainRow[][] = []
  for (const row of rows) {
    let stretch = open.get(row.chain)
    if (stretch === undefined || stretch.at(-1)?.seq !== row.seq - 1) {
      stretch = []
      open.set(row.chain, stretch)
      all.push(stretch)
    }
    stretch.push(row)
  }
  return all
}

/** From when to when the rows of each tenant are. */
function spans(rows: readonly ChainRow[]): Map<string, { firstAt: number; lastAt: number }> {
  const found = new Map<string, { firstAt: number; lastAt: number }>()
  for (const { tenant, at } of rows) {
    const span = found.get(tenant)
    if (span === undefined) found.set(tenant, { firstAt: at, lastAt: at })
    else if (at < span.firstAt) span.firstAt = at
    else if (at > span.lastAt) span.lastAt = at
  }
  return found
}
