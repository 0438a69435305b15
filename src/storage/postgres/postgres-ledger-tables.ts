import type { Cell, ChainRow, LedgerTables, Seal } from '../ledger/ledger-tables.ts'
import { addChains, addRows, findRows, readStretch } from './postgres-audit.ts'
import { listCells, putCells } from './postgres-cells.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import { addRuns } from './postgres-runs.ts'
import type { Presence } from './presence.ts'

/** A filter that no index serves reads all rows of a tenant. */
const SEARCH_MS = 30_000
/** What is removed in the background may be much, and nobody waits for it. */
const REMOVAL_MS = 300_000

/** One row of each chain is enough, which the planner does not see where it is asked by EXISTS. */
const CHAINS = `
  SELECT name AS chain, toolyard.is_alive(name, $1, $2) AS alive FROM toolyard.chains
  WHERE (SELECT seq FROM toolyard.audit WHERE audit.chain = chains.id ORDER BY seq LIMIT 1) IS NOT NULL
    OR EXISTS (SELECT FROM toolyard.seals WHERE seals.chain = chains.id)
  ORDER BY name`

const SEALS = `
  SELECT chains.name AS chain, from_seq AS "fromSeq", to_seq AS "toSeq", before_hash AS "beforeHash",
    last_hash AS "lastHash", first_at AS "firstAt", last_at AS "lastAt", sealed_at AS "sealedAt", mac,
    expired_at AS "expiredAt"
  FROM toolyard.seals JOIN toolyard.chains ON chains.id = seals.chain
  WHERE chains.name = $1 ORDER BY from_seq`

const EXPIRED = `
  SELECT chains.name AS chain, from_seq AS "fromSeq", to_seq AS "toSeq", before_hash AS "beforeHash",
    last_hash AS "lastHash", first_at AS "firstAt", last_at AS "lastAt", sealed_at AS "sealedAt", mac,
    expired_at AS "expiredAt"
  FROM toolyard.seals JOIN toolyard.chains ON chains.id = seals.chain
  WHERE expired_at IS NULL AND last_at < $1 ORDER BY last_at, seals.chain, from_seq`

const ADD_SEAL = `
  INSERT INTO toolyard.seals (chain, from_seq, to_seq, before_hash, last_hash, first_at, last_at, sealed_at, mac,
    expired_at)
  SELECT id, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM toolyard.chains WHERE name = $1
  ON CONFLICT (chain, from_seq) DO NOTHING`

const MARK_SEAL = `
  UPDATE toolyard.seals SET expired_at = $3, mac = $4
  WHERE chain = (SELECT id FROM toolyard.chains WHERE name = $1) AND from_seq = $2`

const REMOVE_ROWS = `
  DELETE FROM toolyard.audit
  WHERE chain = (SELECT id FROM toolyard.chains WHERE name = $1) AND seq BETWEEN $2 AND $3`

const REMOVE_CELLS = 'DELETE FROM toolyard.cells WHERE width = $1 AND start < $2'

const REMOVE_RUNS = 'DELETE FROM toolyard.runs WHERE started_at < $1'

/** What the ledger keeps, shared by all servers. */
export class PostgresLedgerTables implements LedgerTables {
  readonly #database: PostgresDatabase
  readonly #presence: Presence
  readonly #known = new Set<string>()

  constructor(database: PostgresDatabase, presence: Presence) {
    this.#database = database
    this.#presence = presence
  }

  async write({ rows, runs, cells }: Parameters<LedgerTables['write']>[0]): Promise<void> {
    await this.#know(rows.map(({ chain }) => chain))
    await this.#database.transaction(async (statements) => {
      if (rows.length > 0) await addRows(statements, rows)
      if (runs.length > 0) await addRuns(statements, runs)
      if (cells.length > 0) await putCells(statements, this.#presence.instance, cells)
    })
  }

  rows(...[filter, before]: Parameters<LedgerTables['rows']>): Promise<readonly ChainRow[]> {
    return this.#database.transaction((statements) => findRows(statements, filter, before), SEARCH_MS)
  }

  async chains(): Promise<readonly { readonly chain: string; readonly alive: boolean }[]> {
    const { instance, aliveMs } = this.#presence
    const { rows } = await this.#database.run<{ chain: string; alive: boolean }>(CHAINS, [instance, aliveMs])
    return rows
  }

  stretch(chain: string, fromSeq: number, limit: number): Promise<readonly ChainRow[]> {
    return readStretch(this.#database, chain, fromSeq, limit)
  }

  async seals(chain: string): Promise<readonly Seal[]> {
    const { rows } = await this.#database.run<Seal>(SEALS, [chain])
    return rows
  }

  async addSeal(seal: Seal): Promise<boolean> {
    const { chain, fromSeq, toSeq, beforeHash, lastHash, firstAt, lastAt, sealedAt, mac, expiredAt } = seal
    await this.#know([chain])
    const values = [chain, fromSeq, toSeq, beforeHash, lastHash, firstAt, lastAt, sealedAt, mac, expiredAt]
    const { count } = await this.#database.run(ADD_SEAL, values)
    return count > 0
  }

  async expired(before: number): Promise<readonly Seal[]> {
    const { rows } = await this.#database.run<Seal>(EXPIRED, [before])
    return rows
  }

  removeStretch({ chain, fromSeq, toSeq, expiredAt, mac }: Seal): Promise<number> {
    return this.#database.transaction(async (statements) => {
      await statements.run(MARK_SEAL, [chain, fromSeq, expiredAt, mac])
      const { count } = await statements.run(REMOVE_ROWS, [chain, fromSeq, toSeq])
      return count
    }, REMOVAL_MS)
  }

  cells(query: Parameters<LedgerTables['cells']>[0]): Promise<readonly Cell[]> {
    return listCells(this.#database, query)
  }

  removeCells(width: Cell['width'], before: number): Promise<number> {
    return this.#remove(REMOVE_CELLS, [width, before])
  }

  removeRuns(before: number): Promise<number> {
    return this.#remove(REMOVE_RUNS, [new Date(before).toISOString()])
  }

  async #know(chains: readonly string[]): Promise<void> {
    const fresh = [...new Set(chains)].filter((chain) => !this.#known.has(chain))
    if (fresh.length === 0) return
    await addChains(this.#database, fresh)
    for (const chain of fresh) this.#known.add(chain)
  }

  #remove(text: string, values: readonly unknown[]): Promise<number> {
    return this.#database.transaction(async (statements) => (await statements.run(text, values)).count, REMOVAL_MS)
  }
}
