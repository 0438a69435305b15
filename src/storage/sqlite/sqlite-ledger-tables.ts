import type { Cell, ChainRow, LedgerTables, Seal } from '../ledger/ledger-tables.ts'
import { SqliteAudit } from './sqlite-audit.ts'
import { SqliteCells } from './sqlite-cells.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import type { SqliteInstances } from './sqlite-instances.ts'
import type { SqliteRuns } from './sqlite-runs.ts'

const SELECT_SEALS = `SELECT chains.name AS chain, from_seq AS fromSeq, to_seq AS toSeq, before_hash AS beforeHash,
  last_hash AS lastHash, first_at AS firstAt, last_at AS lastAt, sealed_at AS sealedAt, mac, expired_at AS expiredAt
  FROM seals JOIN chains ON chains.id = seals.chain WHERE`

export class SqliteLedgerTables implements LedgerTables {
  readonly #database: SqliteDatabase
  readonly #instances: SqliteInstances
  readonly #runs: SqliteRuns
  readonly #audit: SqliteAudit
  readonly #cells: SqliteCells

  constructor(database: SqliteDatabase, instances: SqliteInstances, runs: SqliteRuns) {
    this.#database = database
    this.#instances = instances
    this.#runs = runs
    this.#audit = new SqliteAudit(database)
    this.#cells = new SqliteCells(database, instances.names[0] as string)
  }

  async write({ rows, runs, cells }: Parameters<LedgerTables['write']>[0]): Promise<void> {
    for (const { chain } of rows) this.#audit.chainOf(chain)
    this.#database.write(() => {
      this.#audit.put(rows)
      for (const run of runs) this.#runs.put(run)
      for (const cell of cells) this.#cells.put(cell)
    })
  }

  rows(...[filter, before]: Parameters<LedgerTables['rows']>): Promise<readonly ChainRow[]> {
    return this.#audit.rows(filter, before)
  }

  async chains(): Promise<readonly { readonly chain: string; readonly alive: boolean }[]> {
    const rows = this.#database.all<{ chain: string; alive: number }>(
      `SELECT name AS chain, EXISTS (SELECT 1 FROM instances WHERE instance = name AND seen_at >= ?) AS alive
       FROM chains WHERE EXISTS (SELECT 1 FROM audit WHERE audit.chain = chains.id)
         OR EXISTS (SELECT 1 FROM seals WHERE seals.chain = chains.id) ORDER BY name`,
      this.#instances.deadBefore(),
    )
    return rows.map(({ chain, alive }) => ({ chain, alive: alive === 1 }))
  }

  async stretch(chain: string, fromSeq: number, limit: number): Promise<readonly ChainRow[]> {
    return this.#audit.stretch(chain, fromSeq, limit)
  }

  async seals(chain: string): Promise<readonly Seal[]> {
    const sql = [SELECT_SEALS, 'chains.name = ? ORDER BY from_seq'].join(' ')
    return this.#database.all<Seal>(sql, chain).map((seal) => ({ ...seal }))
  }

  async addSeal(seal: Seal): Promise<boolean> {
    const added = this.#database.run(
      `INSERT INTO seals (chain, from_seq, to_seq, before_hash, last_hash, first_at, last_at, sealed_at, mac, expired_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (chain, from_seq) DO NOTHING`,
      this.#audit.chainOf(seal.chain),
      seal.fromSeq,
      seal.toSeq,
      seal.beforeHash,
      seal.lastHash,
      seal.firstAt,
      seal.lastAt,
      seal.sealedAt,
      seal.mac,
      seal.expiredAt,
    )
    return added > 0
  }

  async expired(before: number): Promise<readonly Seal[]> {
    const sql = [SELECT_SEALS, 'expired_at IS NULL AND last_at < ? ORDER BY last_at, seals.chain, from_seq'].join(' ')
    return this.#database.all<Seal>(sql, before).map((seal) => ({ ...seal }))
  }

  async removeStretch({ chain, fromSeq, toSeq, expiredAt, mac }: Seal): Promise<number> {
    const id = this.#audit.chainOf(chain)
    return this.#database.write(() => {
      const sql = 'UPDATE seals SET expired_at = ?, mac = ? WHERE chain = ? AND from_seq = ?'
      this.#database.run(sql, expiredAt, mac, id, fromSeq)
      return this.#audit.remove(id, fromSeq, toSeq)
    })
  }

  async cells(query: Parameters<LedgerTables['cells']>[0]): Promise<readonly Cell[]> {
    return this.#cells.list(query)
  }

  async removeCells(width: Cell['width'], before: number): Promise<number> {
    return this.#cells.remove(width, before)
  }

  async removeRuns(before: number): Promise<number> {
    return this.#runs.remove(before)
  }
}
