import { setImmediate as turn } from 'node:timers/promises'
import type { Ledger } from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import { countOf, type PackedCalls, unpackCalls } from './packed-calls.ts'

/** What is written at once must not hold up everything else for long: some 50 ms. */
const MOST_AT_ONCE = 4_096

interface Waiting {
  readonly calls: PackedCalls
  readonly runs: readonly StoredRun[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Writes what came in while the disk was busy at once: one transaction for many batches. */
export class AppendQueue {
  readonly #ledger: Pick<Ledger, 'append'>
  #waiting: Waiting[] = []
  #working: Promise<void> | undefined

  constructor(ledger: Pick<Ledger, 'append'>) {
    this.#ledger = ledger
  }

  append(calls: PackedCalls, runs: readonly StoredRun[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ calls, runs, resolve, reject })
      this.#working ??= this.#work()
    })
  }

  /** Settles when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#working !== undefined) await this.#working
  }

  async #work(): Promise<void> {
    // First what else has come in this turn.
    for (await turn(); this.#waiting.length > 0; await turn()) {
      const group = this.#next()
      try {
        await this.#ledger.append(
          group.flatMap(({ calls }) => unpackCalls(calls)),
          group.flatMap(({ runs }) => runs),
        )
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#working = undefined
  }

  #next(): Waiting[] {
    let records = 0
    let end = 0
    for (const { calls, runs } of this.#waiting) {
      records += countOf(calls) + runs.length
      if (end > 0 && records > MOST_AT_ONCE) break
      end++
    }
    const group = this.#waiting.slice(0, end)
    this.#waiting = this.#waiting.slice(end)
    return group
  }
}
