import { setImmediate } from 'node:timers/promises'
import { GENESIS, rowHash } from './chain-row.ts'
import type { ChainRow, LedgerTables, Seal } from './ledger-tables.ts'
import { isGenuine, numberOf, readSealRecord, sealed, sealRecord } from './seal.ts'

/** So many are read before other work may run. */
const CHAINS_IN_A_ROW = 20

/**
 * Gives the seals of all chains consecutive numbers, and stores how many there are: a seal that is removed with all
 * later ones of its chain leaves its number behind.
 */
export class SealRegister {
  readonly #tables: LedgerTables
  readonly #key: string
  readonly #added: (seal: Seal) => Promise<void>
  #known = 0

  constructor(tables: LedgerTables, key: string, added: (seal: Seal) => Promise<void> = async () => {}) {
    this.#tables = tables
    this.#key = key
    this.#added = added
  }

  /** The highest number that this process has seen stored. */
  get known(): number {
    return this.#known
  }

  isGenuine(seal: Seal): boolean {
    return isGenuine(this.#key, seal)
  }

  /** Stores a seal; false if another server has stored one that begins at the same row. */
  async add(seal: Omit<Seal, 'mac'>): Promise<boolean> {
    const stored = await this.#put(seal)
    if (stored !== undefined) await this.#added(stored)
    return stored !== undefined
  }

  /** Whether no seal is missing, as long as `goOn` returns true. Numbers those of earlier versions. */
  async isComplete(goOn = () => true): Promise<boolean> {
    const numbers = new SealNumbers(this.#tables, this.#key, this.#known)
    await numbers.begin()
    for (const [index, { chain }] of (await this.#tables.chains()).entries()) {
      if (index % CHAINS_IN_A_ROW === CHAINS_IN_A_ROW - 1) await setImmediate()
      for (const seal of await this.#tables.seals(chain)) {
        if (!goOn()) return false
        numbers.add(seal)
        if (numberOf(seal) === undefined && this.isGenuine(seal)) await this.#put(seal, seal.mac)
      }
    }
    const { least, isComplete } = await numbers.end()
    this.#known = Math.max(this.#known, least)
    return isComplete
  }

  async #put(seal: Omit<Seal, 'mac'>, replaces?: string): Promise<Seal | undefined> {
    let [made, number] = [undefined as Seal | undefined, 0]
    const isStored = await this.#tables.putSeal(
      seal.chain,
      (record) => {
        // Without a genuine record it counts from 1: the numbers of other seals then show that it was removed.
        number = Math.max(this.#known, (record !== null && readSealRecord(this.#key, record)) || 0) + 1
        made = sealed(this.#key, seal, number)
        return { seal: made, record: sealRecord(this.#key, number) }
      },
      replaces,
    )
    if (!isStored) return undefined
    this.#known = Math.max(this.#known, number)
    return made
  }
}

/** The maximum number of gaps that are reported. */
const MAX_GAPS = 20

/** Finds the seals that are missing, while others may be added. */
export class SealNumbers {
  readonly #tables: LedgerTables
  readonly #key: string
  /** The number of seals that there are at least. */
  #least: number
  readonly #genuine = new Set<number>()
  /** The numbers that changed and forged seals state. */
  readonly #claimed = new Set<number>()
  readonly #twice = new Set<number>()

  constructor(tables: LedgerTables, key: string, known: number) {
    this.#tables = tables
    this.#key = key
    this.#least = known
  }

  /** Must be called before the first seal is read. */
  async begin(): Promise<void> {
    const record = await this.#tables.sealRecord()
    this.#least = Math.max(this.#least, (record !== null && readSealRecord(this.#key, record)) || 0)
  }

  add(seal: Seal): void {
    const number = numberOf(seal)
    if (number === undefined) return
    if (!isGenuine(this.#key, seal)) this.#claimed.add(number)
    else if (this.#genuine.has(number)) this.#twice.add(number)
    else this.#genuine.add(number)
  }

  /** Must be called after the last seal was read. */
  async end(): Promise<{ readonly least: number; readonly isComplete: boolean; readonly problems: readonly string[] }> {
    const record = await this.#tables.sealRecord()
    const count = record === null ? undefined : readSealRecord(this.#key, record)
    const highest = this.#genuine.values().reduce((most, number) => Math.max(most, number), 0)
    const all = Math.max(this.#least, highest)
    // Seals that were added meanwhile may belong to chains that had been read already.
    const end = count !== undefined && count >= all ? this.#least : all
    // A changed seal is a fault of its own: it isn't missing, too.
    const problems = gaps(end, (number) => this.#genuine.has(number) || this.#claimed.has(number))
    if (record === null && all > 0) problems.push('The record of all seals is missing: it was removed')
    else if (record !== null && count === undefined) {
      problems.push('The record of all seals was changed, or created without the key')
    } else if (count !== undefined && count < all) {
      problems.push(`The record of all seals counts ${count} of ${all}: it was replaced by an older one`)
    }
    for (const number of this.#twice) {
      problems.push(`There are two seals ${number}: the record of all seals was removed or replaced before the second`)
    }
    const isComplete = problems.length === 0 && gaps(end, (number) => this.#genuine.has(number)).length === 0
    return { least: this.#least, isComplete, problems }
  }
}

/** The numbers from 1 to `all` that are missing. */
function gaps(all: number, has: (number: number) => boolean): string[] {
  const found: string[] = []
  for (let from = 1; from <= all && found.length < MAX_GAPS; from++) {
    if (has(from)) continue
    let to = from
    while (to < all && !has(to + 1)) to++
    found.push(
      from === to
        ? `Seal ${from} of ${all} is missing: it was removed`
        : `Seals ${from} to ${to} of ${all} are missing: they were removed`,
    )
    from = to
  }
  return found
}

/** A stretch is removed in one transaction: that many rows take a fraction of a second. */
export const MAX_ROWS_IN_STRETCH = 50_000
const PAGE = 1_000

/**
 * Seals the rows of a chain after its last seal, as far as their hashes match, and if no seal is missing: anybody can
 * make the hashes match. Several servers may do so at once: of two seals that begin at the same row, one is stored.
 * Returns the first row that could not be sealed, if there is one.
 */
export async function sealTail(
  tables: LedgerTables,
  register: SealRegister,
  chain: string,
  now: () => number,
  isComplete = () => register.isComplete(),
): Promise<number | undefined> {
  for (;;) {
    const last = (await tables.seals(chain)).at(-1)
    if (last !== undefined && !register.isGenuine(last)) return last.fromSeq
    const { rows, broken } = await openRows(tables, chain, last)
    const [first, end] = [rows[0], rows.at(-1)]
    if (first === undefined || end === undefined) return broken
    if (!(await isComplete())) return first.seq
    await register.add({
      chain,
      fromSeq: first.seq,
      toSeq: end.seq,
      beforeHash: last?.lastHash ?? GENESIS,
      lastHash: end.hash,
      firstAt: rows.reduce((least, { at }) => Math.min(least, at), first.at),
      lastAt: rows.reduce((most, { at }) => Math.max(most, at), first.at),
      sealedAt: now(),
      expiredAt: null,
    })
    if (broken !== undefined) return broken
  }
}

/** The matching rows after the last seal, up to one stretch, and the first that does not match. */
async function openRows(
  tables: LedgerTables,
  chain: string,
  last: Seal | undefined,
): Promise<{ readonly rows: readonly Pick<ChainRow, 'seq' | 'at' | 'hash'>[]; readonly broken?: number }> {
  const rows: Pick<ChainRow, 'seq' | 'at' | 'hash'>[] = []
  let seq = last?.toSeq ?? 0
  let before = last?.lastHash ?? GENESIS
  while (rows.length < MAX_ROWS_IN_STRETCH) {
    const page = await tables.stretch(chain, seq + 1, PAGE)
    for (const row of page) {
      if (row.seq !== seq + 1 || rowHash(before, row) !== row.hash) return { rows, broken: seq + 1 }
      rows.push({ seq: row.seq, at: row.at, hash: row.hash })
      seq = row.seq
      before = row.hash
    }
    if (page.length < PAGE) break
    await setImmediate()
  }
  return { rows }
}
