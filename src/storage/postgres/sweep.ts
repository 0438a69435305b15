import type { PostgresDatabase } from './postgres-database.ts'

/** No sweep holds up what waits behind it: the rest goes the next time. */
const MOST_AT_ONCE = 10_000

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
  await database.run(CACHE, [by.now, MOST_AT_ONCE])
  await database.run(LEASES, [by.instance, by.aliveMs])
  await database.run(INSTANCES)
}
