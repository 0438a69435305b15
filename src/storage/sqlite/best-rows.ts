import type { ChainRow, LedgerTables } from '../ledger/ledger-tables.ts'

type Filter = Parameters<LedgerTables['rows']>[0]

/** The place of a row among all. */
export interface Place {
  readonly at: number
  readonly chain: number
  readonly seq: number
}

interface Found extends Place {
  readonly row: ChainRow
}

/** Before all rows of that time: the numbers of chains begin at 1. */
export const startOf = (at: number): Place => ({ at, chain: 0, seq: 0 })

/** Of all the rows that it is shown, the newest that are looked for. */
export class BestRows {
  /** All rows stand before it. */
  readonly end: Place | undefined
  readonly #filter: Filter
  #found: Found[] = []

  constructor(filter: Filter, ends: readonly (Place | undefined)[]) {
    this.#filter = filter
    this.end = ends.filter((end) => end !== undefined).sort(order)[0]
  }

  /** Newest first. */
  get rows(): readonly ChainRow[] {
    return this.#found.map(({ row }) => row)
  }

  /** Whether rows of this time and earlier ones can add nothing any more. */
  isFull(at: number): boolean {
    return this.#found.length >= this.#filter.limit && (this.#found.at(-1) as Found).at > at
  }

  add(rows: readonly ChainRow[], chain: number): void {
    for (const row of rows) {
      const found = { at: row.at, chain, seq: row.seq, row }
      if (this.#isWanted(found)) this.#found.push(found)
    }
    this.#found.sort((a, b) => order(b, a))
    if (this.#found.length > this.#filter.limit) this.#found.length = this.#filter.limit
  }

  #isWanted({ row, ...place }: Found): boolean {
    const { tenant, tool, caller, runId, outcome, errorCode, from } = this.#filter
    return (
      (tool === undefined || row.tool === tool) &&
      (tenant === undefined || row.tenant === tenant) &&
      (caller === undefined || row.caller === caller) &&
      (runId === undefined || row.runId === runId) &&
      (outcome === undefined || row.outcome === outcome) &&
      (errorCode === undefined || row.code === errorCode) &&
      (from === undefined || row.at >= from) &&
      (this.end === undefined || order(place, this.end) < 0)
    )
  }
}

const order = (a: Place, b: Place): number => a.at - b.at || a.chain - b.chain || a.seq - b.seq
