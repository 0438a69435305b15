import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../core/clock.ts'
import {
  ALL_CHAINS,
  type AuditFault,
  type AuditReport,
  type CallEntry,
  type EventEntry,
} from '../../core/storage/ledger.ts'
import { chainRow, eventRow, GENESIS, paramsHasher, rowHash } from './chain-row.ts'
import type { ChainRow, LedgerTables, Seal } from './ledger-tables.ts'
import { isGenuine } from './seal.ts'
import { MAX_ROWS_IN_STRETCH, SealNumbers, SealRegister, sealTail } from './seal-register.ts'

const HOUR = 3_600_000

/** The maximum number of faults that are reported per chain. */
const MAX_FAULTS = 100

type Report = { -readonly [Field in keyof AuditReport]: AuditReport[Field] } & { readonly faults: AuditFault[] }

/** Gets every row and every seal while the chains are verified. */
export interface ChainVisitor {
  row(row: ChainRow): void
  seal(seal: Seal): void
}

/** Servers seal their chains after an hour, and those of servers that have ended within another. */
const OVERDUE_MS = 3 * HOUR

/** Verifies all chains; `ends` are the ends of chains that are being written. */
export async function verifyChains(
  tables: LedgerTables,
  key: string,
  ends: ReadonlyMap<string, { readonly seq: number; readonly hash: string }>,
  { visitor, now, knownSeals = 0 }: VerifyOptions = {},
): Promise<AuditReport> {
  const report: Report = { chains: 0, rows: 0, expired: 0, seals: 0, unsealed: 0, faults: [] }
  const numbers = new SealNumbers(tables, key, knownSeals)
  await numbers.begin()
  const found = new Map((await tables.chains()).map(({ chain, alive }) => [chain, alive]))
  const overdue: AuditFault[] = []
  for (const chain of new Set([...found.keys(), ...ends.keys()])) {
    const walk = new ChainWalk(tables, key, chain, report, visitor)
    report.chains++
    for (const seal of await tables.seals(chain)) {
      visitor?.seal(seal)
      numbers.add(seal)
      await walk.seal(seal)
    }
    const tail = await walk.tail(ends.get(chain))
    await walk.misnumbered()
    if (found.get(chain) !== false || tail === undefined || now === undefined || tail.lastAt > now - OVERDUE_MS)
      continue
    const rows = tail.from === tail.to ? `Row ${tail.from} has` : `Rows ${tail.from} to ${tail.to} have`
    overdue.push({ chain, at: tail.from, problem: `${rows} no seal, although the server has ended` })
  }
  for (const problem of (await numbers.end()).problems) report.faults.push({ chain: ALL_CHAINS, at: 0, problem })
  return overdue.length === 0 ? report : { ...report, overdue }
}

interface VerifyOptions {
  readonly visitor?: ChainVisitor | undefined
  /** Rows that should be sealed by now are reported. */
  readonly now?: number
  /** How many seals there are at least. */
  readonly knownSeals?: number
}

/** Verifies one chain from its first row or seal to its last. */
class ChainWalk {
  readonly #tables: LedgerTables
  readonly #key: string
  readonly #chain: string
  readonly #reader: RowReader
  readonly #report: Report
  #faults = 0
  /** The last verified row, and its hash; undefined if the hash is unknown. */
  #seq = 0
  #hash: string | undefined = GENESIS

  constructor(tables: LedgerTables, key: string, chain: string, report: Report, visitor: ChainVisitor | undefined) {
    this.#tables = tables
    this.#key = key
    this.#chain = chain
    this.#reader = new RowReader(tables, chain, visitor)
    this.#report = report
  }

  /** Checks a seal, and the rows in it and before it. */
  async seal(seal: Seal): Promise<void> {
    this.#report.seals++
    const { fromSeq, toSeq } = seal
    const name = `The seal of rows ${fromSeq} to ${toSeq}`
    if (!isGenuine(this.#key, seal)) {
      this.#fault(fromSeq, `${name} was changed, or created without the key`)
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
      this.#fault(fromSeq, `${name} does not follow from the previous row: earlier rows were changed`)
    }
    this.#hash = seal.beforeHash
    if (seal.expiredAt === null) await this.#sealedRows(seal)
    else await this.#expiredRows(seal)
    this.#seq = toSeq
    this.#hash = seal.lastHash
  }

  /** Checks the rows after the last seal, and returns where they are and the time of the last. */
  async tail(end: { readonly seq: number; readonly hash: string } | undefined): Promise<Tail | undefined> {
    const before = this.#report.rows
    let tail: Tail | undefined
    for (let row = await this.#reader.peek(); row !== undefined; row = await this.#reader.peek()) {
      tail = { from: tail?.from ?? row.seq, to: row.seq, lastAt: Math.max(tail?.lastAt ?? row.at, row.at) }
      if (row.seq <= this.#seq) this.#passAdded(row)
      else await this.#walkTo(row.seq)
      if (row.seq === end?.seq && row.hash !== end.hash) {
        this.#fault(row.seq, `Row ${row.seq} is not the one that this server wrote: the rows up to it were rewritten`)
      }
    }
    this.#report.unsealed += this.#report.rows - before
    if (end !== undefined && this.#seq < end.seq) this.#missing(this.#seq + 1, end.seq)
    return tail
  }

  /** Reports rows whose numbers are too large or too small for a server to write. */
  async misnumbered(): Promise<void> {
    for (const number of await this.#tables.misnumbered(this.#chain, MAX_FAULTS)) {
      this.#fault(Number(number), `Row ${number} should not exist: it was added`)
    }
  }

  async #sealedRows(seal: Seal): Promise<void> {
    const found = this.#faults
    const [rows, complete] = [this.#report.rows, await this.#walkTo(seal.toSeq, () => this.#hasExpired(seal))]
    if (!complete) {
      // The stretch expired while it was read.
      this.#report.rows = rows
      this.#report.expired += seal.toSeq - seal.fromSeq + 1
    } else if (this.#hash !== undefined && this.#hash !== seal.lastHash && this.#faults === found) {
      const which = `Rows ${seal.fromSeq} to ${seal.toSeq}`
      this.#fault(seal.fromSeq, `${which} do not match the hash in their seal: they were rewritten`)
    }
  }

  async #expiredRows(seal: Seal): Promise<void> {
    this.#report.expired += seal.toSeq - seal.fromSeq + 1
    for (let row = await this.#reader.peek(); row && row.seq <= seal.toSeq; row = await this.#reader.peek()) {
      this.#passAdded(row)
    }
  }

  /** Checks all rows up to `toSeq`; returns false if `excused` explains a gap. */
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
      this.#report.rows++
      if (this.#hash !== undefined && rowHash(this.#hash, row) !== row.hash) {
        this.#fault(row.seq, `Row ${row.seq} does not match its hash: it or the previous row was changed`)
      }
      this.#seq = row.seq
      this.#hash = row.hash
    }
    return true
  }

  /** A row with a number that was passed already, or that is invalid. */
  #passAdded({ seq }: ChainRow): void {
    this.#reader.skip()
    this.#report.rows++
    this.#fault(seq, `Row ${seq} should not exist: it was added`)
  }

  async #hasExpired(seal: Seal): Promise<boolean> {
    const now = (await this.#tables.seals(this.#chain)).find(({ fromSeq }) => fromSeq === seal.fromSeq)
    return now !== undefined && now.expiredAt !== null && isGenuine(this.#key, now)
  }

  #missing(from: number, to: number): void {
    this.#fault(from, from === to ? `Row ${from} is missing` : `Rows ${from} to ${to} are missing`)
  }

  #fault(at: number, problem: string): void {
    if (this.#faults++ < MAX_FAULTS) this.#report.faults.push({ chain: this.#chain, at, problem })
  }
}

interface Tail {
  readonly from: number
  readonly to: number
  readonly lastAt: number
}

const PAGE = 1_000

/** Reads the rows of a chain in pages. */
class RowReader {
  readonly #tables: LedgerTables
  readonly #chain: string
  #page: readonly ChainRow[] = []
  #index = 0
  #from = Number.MIN_SAFE_INTEGER
  #ended = false
  readonly #visitor: ChainVisitor | undefined

  constructor(tables: LedgerTables, chain: string, visitor: ChainVisitor | undefined) {
    this.#tables = tables
    this.#chain = chain
    this.#visitor = visitor
  }

  /** The next row, without consuming it. */
  async peek(): Promise<ChainRow | undefined> {
    if (this.#index === this.#page.length && !this.#ended) {
      // Lets other work run between two pages.
      await setImmediate()
      this.#page = await this.#tables.stretch(this.#chain, this.#from, PAGE)
      this.#index = 0
      this.#ended = this.#page.length < PAGE
      this.#from = (this.#page.at(-1)?.seq ?? this.#from) + 1
    }
    return this.#page[this.#index]
  }

  skip(): void {
    this.#visitor?.row(this.#page[this.#index] as ChainRow)
    this.#index++
  }
}

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
  readonly #register: SealRegister
  readonly #hashParams: (params: string) => string | null
  readonly #clock: Clock
  #seq = 0
  #hash = GENESIS
  #open: OpenStretch | undefined
  /** Rows whose write failed. They may be stored: a connection can break after the commit. */
  #doubtful: readonly ChainRow[] | undefined

  constructor(tables: LedgerTables, name: string, key: string, clock: Clock, register = new SealRegister(tables, key)) {
    this.#tables = tables
    this.#name = name
    this.#register = register
    this.#hashParams = paramsHasher(key)
    this.#clock = clock
  }

  /** The number and the hash of the last stored row. */
  get end(): { readonly seq: number; readonly hash: string } {
    return { seq: this.#seq, hash: this.#hash }
  }

  /** Writes the rows of these entries with `write`, and continues the chain after them once they are stored. */
  async append(
    entries: readonly (CallEntry | EventEntry)[],
    write: (rows: readonly ChainRow[]) => Promise<void>,
  ): Promise<readonly ChainRow[]> {
    let rows = this.#rowsOf(entries)
    const doubtful = this.#doubtful
    if ((await this.#settleDoubt()) === 'there') {
      const again = doubtful?.length === rows.length && doubtful.at(-1)?.hash === rows.at(-1)?.hash
      if (again) return rows
      rows = this.#rowsOf(entries)
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
    const isAdded = await this.#register.add({
      chain: this.#name,
      fromSeq,
      toSeq: this.#seq,
      beforeHash,
      lastHash: this.#hash,
      firstAt,
      lastAt,
      sealedAt: this.#clock.wall(),
      expiredAt: null,
    })
    // Another server took this one for dead and sealed a part. The rest is sealed from the table.
    if (!isAdded) await sealTail(this.#tables, this.#register, this.#name, () => this.#clock.wall())
    this.#open = undefined
  }

  #rowsOf(entries: readonly (CallEntry | EventEntry)[]): readonly ChainRow[] {
    let [seq, before] = [this.#seq, this.#hash]
    return entries.map((entry) => {
      const place = { chain: this.#name, seq: ++seq, before }
      const row = 'event' in entry ? eventRow(entry, place, this.#hashParams) : chainRow(entry, place, this.#hashParams)
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
    return new Error(`Another process has written at or after ${place}: run 'toolyard audit verify'`, { cause })
  }
}
