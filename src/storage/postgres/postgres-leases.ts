import type { Company, LeaseRequest, LeaseStore } from '../../core/storage/lease-store.ts'
import type { Lifeline } from './lifeline.ts'
import type { PostgresDatabase } from './postgres-database.ts'
import type { Presence } from './presence.ts'

const LEASE = 'SELECT leased, held FROM toolyard.lease($1, $2, $3, $4, $5, $6, $7)'

/** Parts of limits that servers share. */
export class PostgresLeases implements LeaseStore {
  readonly #database: PostgresDatabase
  readonly #presence: Presence
  readonly #lifeline: Lifeline

  constructor(database: PostgresDatabase, presence: Presence, lifeline: Lifeline) {
    this.#database = database
    this.#presence = presence
    this.#lifeline = lifeline
  }

  async lease(requests: readonly LeaseRequest[]): Promise<readonly number[]> {
    // Of several requests for one key the last counts.
    const asked = [...new Map(requests.map((request) => [request.key, request])).values()]
    const { instance, aliveMs, beatMs } = this.#presence
    const { rows } = await this.#database.run<{ leased: string; held: number }>(LEASE, [
      instance,
      aliveMs,
      beatMs,
      asked.map(({ key }) => key),
      asked.map(({ calls }) => calls),
      asked.map(({ perMs }) => perMs),
      asked.map(({ want }) => want),
    ])
    const held = new Map(rows.map((row) => [row.leased, row.held]))
    return requests.map(({ key }) => held.get(key) ?? 0)
  }

  async company(): Promise<Company> {
    return this.#lifeline.company
  }
}
