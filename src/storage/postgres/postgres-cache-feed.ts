import type { Clock } from '../../core/clock.ts'
import type { CacheEntry, CacheFeed } from '../../core/storage/cache-feed.ts'
import type { PostgresDatabase } from './postgres-database.ts'

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
