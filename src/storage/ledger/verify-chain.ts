import { setImmediate } from 'node:timers/promises'
import type { AuditFault, AuditReport } from '../../core/storage/ledger.ts'
import { GENESIS, rowHash } from './chain-row.ts'
import type { ChainRow, LedgerTables, Seal } from './ledger-tables.ts'
import { isGenuine } from './seal.ts'

/** Walks all chains; `ends` tells where those end that somebody is just writing. */
export async function verifyChains(
  tables: LedgerTables,
  key: string,
  ends: ReadonlyMap<string, { readonly seq: number; readonly hash: string }>,
): Promise<AuditReport> {
  const report = { chains: 0, rows: 0, expired: 0, seals: 0, unsealed: 0 }
  const faults: AuditFault[] = []
  const found = (await tables.chains()).map(({ chain }) => chain)
  for (const chain of new Set([...found, ...ends.keys()])) {
    const one = await verifyChain(tables, key, chain, ends.get(chain))
    report.chains++
    report.rows += one.rows
    report.expired += one.expired
    report.seals += one.seals
    report.unsealed += one.unsealed
    faults.push(...one.faults)
  }
  return { ...report, faults }
}

/** Of one chain; what comes after is counted, but not told. */
const MOST_FAULTS = 100

/** What was found in one chain. */
export interface ChainReport {
  readonly rows: number
  readonly expired: number
  readonly seals: number
  readonly unsealed: number
  readonly faults: readonly AuditFault[]
}

/** Walks one chain from its first row or seal to its last. */
export async function verifyChain(
  tables: LedgerTables,
  key: string,
  chain: string,
  end?: { readonly seq: number; readonly hash: string },
): Promise<ChainReport> {
  const walk = new ChainWalk(tables, key, chain)
  const seals = await tables.seals(chain)
  for (const seal of seals) await walk.seal(seal)
  await walk.tail(end)
  return walk.report()
}

class ChainWalk {
  readonly #tables: LedgerTables
  readonly #key: string
  readonly #chain: string
  readonly #reader: RowReader
  readonly #faults: AuditFault[] = []
  /** The last row that was passed, and its hash; undefined where it is not known. */
  #seq = 0
  #hash: string | undefined = GENESIS
  #rows = 0
  #expired = 0
  #seals = 0
  #unsealed = 0

  constructor(tables: LedgerTables, key: string, chain: string) {
    this.#tables = tables
    this.#key = key
    this.#chain = chain
    this.#reader = new RowReader(tables, chain)
  }

  report(): ChainReport {
    return {
      rows: this.#rows,
      expired: this.#expired,
      seals: this.#seals,
      unsealed: this.#unsealed,
      faults: this.#faults,
    }
  }

  /** Checks a seal, and the rows that stand in it and before it. */
  async seal(seal: Seal): Promise<void> {
    this.#seals++
    const { fromSeq, toSeq } = seal
    const name = `The seal of rows ${fromSeq} to ${toSeq}`
    if (!isGenuine(this.#key, seal)) {
      this.#fault(fromSeq, `${name} was changed, or was made without the key`)
      return
    }
    if (fromSeq <= this.#seq) {
      this.#fault(fromSeq, `${name} covers rows that another seal covers`)
      return
    }
    if (fromSeq > this.#seq + 1) {
      this.#fault(this.#seq + 1, `No seal covers rows ${this.#seq + 1} to ${fromSeq - 1}: it was removed or changed`)
      await this.#walkTo(fromSeq - 1)
    }
    if (this.#hash !== undefined && this.#hash !== seal.beforeHash) {
      this.#fault(fromSeq, `${name} does not go on from the row before it: rows before it were changed`)
    }
    this.#hash = seal.beforeHash
    if (seal.expiredAt === null) await this.#sealedRows(seal)
    else await this.#expiredRows(seal)
    this.#seq = toSeq
    this.#hash = seal.lastHash
  }

  /** Checks what comes after the last seal. */
  async tail(end: { readonly seq: number; readonly hash: string } | undefined): Promise<void> {
    const before = this.#rows
    for (let row = await this.#reader.peek(); row !== undefined; row = await this.#reader.peek()) {
      if (row.seq <= this.#seq) this.#passAdded(row)
      else await this.#walkTo(row.seq)
      if (row.seq === end?.seq && row.hash !== end.hash) {
        this.#fault(row.seq, `Row ${row.seq} is not the one that this server wrote: rows up to it were written anew`)
      }
    }
    this.#unsealed += this.#rows - before
    if (end !== undefined && this.#seq < end.seq) this.#missing(this.#seq + 1, end.seq)
  }

  async #sealedRows(seal: Seal): Promise<void> {
    const found = this.#faults.length
    const [rows, complete] = [this.#rows, await this.#walkTo(seal.toSeq, () => this.#hasExpired(seal))]
    if (!complete) {
      // It expired while it was being read.
      this.#rows = rows
      this.#expired += seal.toSeq - seal.fromSeq + 1
    } else if (this.#hash !== undefined && this.#hash !== seal.lastHash && this.#faults.length === found) {
      const which = `Rows ${seal.fromSeq} to ${seal.toSeq}`
      this.#fault(seal.fromSeq, `${which} do not lead to the hash in their seal: they were written anew`)
    }
  }

  async #expiredRows(seal: Seal): Promise<void> {
    this.#expired += seal.toSeq - seal.fromSeq + 1
    for (let row = await this.#reader.peek(); row && row.seq <= seal.toSeq; row = await this.#reader.peek()) {
      this.#passAdded(row)
    }
  }

  /** Passes all rows up to `toSeq`; false where `excused` says that a gap is none. */
  async #walkTo(toSeq: number, excused?: () => Promise<boolean>): Promise<boolean> {
    while (this.#seq < toSeq) {
      const row = await this.#reader.peek()
      const next = this.#seq + 1
      if (row === undefined || row.seq > next) {
        const last = Math.min(toSeq, (row?.seq ?? Number.POSITIVE_INFINITY) - 1)
        if (await excused?.()) return false
        this.#missing(next, last)
        this.#seq = last
        this.#hash = undefined
        continue
      }
      if (row.seq < next) {
        this.#passAdded(row)
        continue
      }
      this.#reader.skip()
      this.#rows++
      if (this.#hash !== undefined && rowHash(this.#hash, row) !== row.hash) {
        this.#fault(row.seq, `Row ${row.seq} does not fit its hash: it was changed, or the one before it was`)
      }
      this.#seq = row.seq
      this.#hash = row.hash
    }
    return true
  }

  /** A row at a place that has been passed, or that no row can have. */
  #passAdded({ seq }: ChainRow): void {
    this.#reader.skip()
    this.#rows++
    this.#fault(seq, `Row ${seq} stands where there can be none: it was added`)
  }

  async #hasExpired(seal: Seal): Promise<boolean> {
    const now = (await this.#tables.seals(this.#chain)).find(({ fromSeq }) => fromSeq === seal.fromSeq)
    return now !== undefined && now.expiredAt !== null && isGenuine(this.#key, now)
  }

  #missing(from: number, to: number): void {
    this.#fault(from, from === to ? `Row ${from} is missing` : `Rows ${from} to ${to} are missing`)
  }

  #fault(at: number, problem: string): void {
    if (this.#faults.length < MOST_FAULTS) this.#faults.push({ chain: this.#chain, at, problem })
  }
}

const PAGE = 1_000

/** Reads the rows of a chain one after the other, page by page. */
class RowReader {
  readonly #tables: LedgerTables
  readonly #chain: string
  #page: readonly ChainRow[] = []
  #index = 0
  #from = Number.MIN_SAFE_INTEGER
  #ended = false

  constructor(tables: LedgerTables, chain: string) {
    this.#tables = tables
    this.#chain = chain
  }

  /** The next row, which stays the next one until `skip`. */
  async peek(): Promise<ChainRow | undefined> {
    if (this.#index === this.#page.length && !this.#ended) {
      // Others want to be answered between two pages.
      await setImmediate()
      this.#page = await this.#tables.stretch(this.#chain, this.#from, PAGE)
      this.#index = 0
      this.#ended = this.#page.length < PAGE
      this.#from = (this.#page.at(-1)?.seq ?? this.#from) + 1
    }
    return this.#page[this.#index]
  }

  skip(): void {
    this.#index++
  }
}
