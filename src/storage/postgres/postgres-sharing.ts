import type { Clock } from '../../core/clock.ts'
import type { CacheEntry, CacheFeed, Company, LeaseRequest, LeaseStore } from '../../core/storage/lease-store.ts'
import type { Heartbeat, Presence } from './heartbeat.ts'
import type { PostgresDatabase } from './postgres-database.ts'

const LEASE = 'SELECT leased, held FROM toolyard.lease($1, $2, $3, $4, $5, $6, $7)'

/** Parts of limits that servers share. */
export class PostgresLeases implements LeaseStore {
  readonly #database: PostgresDatabase
  readonly #presence: Presence
  readonly #heartbeat: Heartbeat

  constructor(database: PostgresDatabase, presence: Presence, heartbeat: Heartbeat) {
    this.#database = database
    this.#presence = presence
    this.#heartbeat = heartbeat
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
    return this.#heartbeat.company
  }
}

/** How many entries are looked at in one go: an entry may be 64 KB. */
const MOST_AT_ONCE = 200

const SHARE = 'SELECT toolyard.share($1, $2, $3, $4)'

/** Own entries are passed over, and those that are past their time: only their numbers are wanted. */
const NEWS = `
  SELECT seq, wanted, CASE WHEN wanted THEN key END AS key, CASE WHEN wanted THEN text END AS text, expires_at
  FROM (
    SELECT *, instance <> $2 AND expires_at > $3 AS wanted FROM toolyard.cache_feed WHERE seq > $1 ORDER BY seq LIMIT $4
  ) AS fresh
  ORDER BY seq`

interface NewsRow {
  readonly seq: number
  readonly wanted: boolean
  readonly key: string
  readonly text: string
  readonly expires_at: number
}

/** Results that servers tell each other. Who has just started hears of those of the last minutes. */
export class PostgresCacheFeed implements CacheFeed {
  readonly #database: PostgresDatabase
  readonly #instance: string
  readonly #clock: Clock
  #last = 0

  constructor(database: PostgresDatabase, instance: string, clock: Clock) {
    this.#database = database
    this.#instance = instance
    this.#clock = clock
  }

  async put(entries: readonly CacheEntry[]): Promise<void> {
    if (entries.length === 0) return
    await this.#database.run(SHARE, [
      this.#instance,
      entries.map(({ key }) => key),
      entries.map(({ text }) => text),
      entries.map(({ expiresAt }) => expiresAt),
    ])
  }

  async news(): Promise<readonly CacheEntry[]> {
    const found: CacheEntry[] = []
    for (;;) {
      const values = [this.#last, this.#instance, this.#clock.wall(), MOST_AT_ONCE]
      const { rows } = await this.#database.run<NewsRow>(NEWS, values)
      this.#last = rows.at(-1)?.seq ?? this.#last
      for (const { wanted, key, text, expires_at } of rows) if (wanted) found.push({ key, text, expiresAt: expires_at })
      // An empty answer says that there is no more: one of only own entries says nothing.
      if (found.length > 0 || rows.length < MOST_AT_ONCE) return found
    }
  }
}

/** No sweep holds up what waits behind it: the rest goes the next time. */
const SWEEP_LIMIT = 10_000

/** A feed, not a cache: who lives has long read what is older. */
const CACHE = `
  DELETE FROM toolyard.cache_feed WHERE seq = ANY (ARRAY(
    SELECT seq FROM toolyard.cache_feed WHERE expires_at <= $1 OR put_at < now() - interval '10 minutes' LIMIT $2
  ))`

const LEASES = `
  DELETE FROM toolyard.leases WHERE amount = 0
    OR expires_at < now() - interval '1 day' AND NOT toolyard.is_alive(instance, $1, $2)`

const INSTANCES = "DELETE FROM toolyard.instances WHERE seen_at < now() - interval '1 day'"

/** Removes what nobody needs any more. */
export async function sweep(
  database: PostgresDatabase,
  by: { readonly instance: string; readonly aliveMs: number; readonly now: number },
): Promise<void> {
  await database.run(CACHE, [by.now, SWEEP_LIMIT])
  await database.run(LEASES, [by.instance, by.aliveMs])
  await database.run(INSTANCES)
}
