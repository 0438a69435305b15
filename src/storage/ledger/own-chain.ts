import type { Clock } from '../../core/clock.ts'
import type { CallEntry } from '../../core/storage/ledger.ts'
import { chainRow, GENESIS, paramsHasher } from './chain-row.ts'
import type { ChainRow, LedgerTables } from './ledger-tables.ts'
import { MAX_ROWS_IN_STRETCH, sealed, sealTail } from './seal.ts'

const HOUR = 3_600_000

/** Rows without a seal. */
interface OpenStretch {
  readonly fromSeq: number
  readonly beforeHash: string
  readonly openedAt: number
  firstAt: number
  lastAt: number
}

/** The chain of this server instance. Calls must not overlap. */
export class OwnChain {
  readonly #tables: LedgerTables
  readonly #name: string
  readonly #key: string
  readonly #hashParams: (params: string) => string | null
  readonly #clock: Clock
  #seq = 0
  #hash = GENESIS
  #open: OpenStretch | undefined
  /** Rows whose write failed. They may be stored: a connection can break after the commit. */
  #doubtful: readonly ChainRow[] | undefined

  constructor(tables: LedgerTables, name: string, key: string, clock: Clock) {
    this.#tables = tables
    this.#name = name
    this.#key = key
    this.#hashParams = paramsHasher(key)
    this.#clock = clock
  }

  /** The number and the hash of the last stored row. */
  get end(): { readonly seq: number; readonly hash: string } {
    return { seq: this.#seq, hash: this.#hash }
  }

  /** Writes the rows of these calls with `write`, and continues the chain after them once they are stored. */
  async append(
    calls: readonly CallEntry[],
    write: (rows: readonly ChainRow[]) => Promise<void>,
  ): Promise<readonly ChainRow[]> {
    let rows = this.#rowsOf(calls)
    const doubtful = this.#doubtful
    if ((await this.#settleDoubt()) === 'there') {
      const again = doubtful?.length === rows.length && doubtful.at(-1)?.hash === rows.at(-1)?.hash
      if (again) return rows
      rows = this.#rowsOf(calls)
    }
    try {
      await write(rows)
    } catch (error) {
      if (rows.length > 0) this.#doubtful = rows
      // If this fails, too, it is retried before the next rows.
      const found = await this.#settleDoubt().catch(() => 'unknown')
      if (found === 'there') return rows
      if (found === 'foreign') throw this.#foreign(error)
      throw error
    }
    this.#accept(rows)
    return rows
  }

  /** Whether the hour of the open stretch is over, or it is long. */
  sealDue(): boolean {
    const open = this.#open
    if (open === undefined) return false
    return (
      Math.floor(open.openedAt / HOUR) !== Math.floor(this.#clock.wall() / HOUR) ||
      this.#seq - open.fromSeq + 1 >= MAX_ROWS_IN_STRETCH
    )
  }

  /** Seals the open stretch from memory: the table may have been changed. */
  async seal(): Promise<void> {
    await this.#settleDoubt()
    const open = this.#open
    if (open === undefined) return
    const { fromSeq, beforeHash, firstAt, lastAt } = open
    const added = await this.#tables.addSeal(
      sealed(this.#key, {
        chain: this.#name,
        fromSeq,
        toSeq: this.#seq,
        beforeHash,
        lastHash: this.#hash,
        firstAt,
        lastAt,
        sealedAt: this.#clock.wall(),
        expiredAt: null,
      }),
    )
    // Another server took this one for dead and sealed a part. The rest is sealed from the table.
    if (!added) await sealTail(this.#tables, this.#key, this.#name, () => this.#clock.wall())
    this.#open = undefined
  }

  #rowsOf(calls: readonly CallEntry[]): readonly ChainRow[] {
    let [seq, before] = [this.#seq, this.#hash]
    return calls.map((call) => {
      const row = chainRow(call, { chain: this.#name, seq: ++seq, before }, this.#hashParams)
      before = row.hash
      return row
    })
  }

  #accept(rows: readonly ChainRow[]): void {
    const last = rows.at(-1)
    if (last === undefined) return
    this.#open ??= {
      fromSeq: this.#seq + 1,
      beforeHash: this.#hash,
      openedAt: this.#clock.wall(),
      firstAt: last.at,
      lastAt: last.at,
    }
    for (const { at } of rows) {
      if (at < this.#open.firstAt) this.#open.firstAt = at
      if (at > this.#open.lastAt) this.#open.lastAt = at
    }
    this.#seq = last.seq
    this.#hash = last.hash
  }

  /** Checks whether the doubtful rows are stored, and continues after them if so. */
  async #settleDoubt(): Promise<'there' | 'gone' | 'foreign'> {
    const rows = this.#doubtful
    const last = rows?.at(-1)
    if (rows === undefined || last === undefined) return 'gone'
    const [found] = await this.#tables.stretch(this.#name, last.seq, 1)
    this.#doubtful = undefined
    if (found?.seq !== last.seq) return 'gone'
    if (found.hash !== last.hash) return 'foreign'
    this.#accept(rows)
    return 'there'
  }

  #foreign(cause: unknown): Error {
    const place = `row ${this.#seq + 1} of the audit chain '${this.#name}'`
    return new Error(`Somebody else has written at or after ${place}: run 'toolyard audit verify'`, { cause })
  }
}
