import { setImmediate } from 'node:timers/promises'
import type { ChainRow, LedgerTables } from './ledger-tables.ts'

const PAGE = 1_000

/** Reads the rows of a chain one after the other, page by page. */
export class RowReader {
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
