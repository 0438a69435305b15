import { type Clock, systemClock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { StorageStatus } from '../../core/storage/storage.ts'
import type { Engine, StorageOptions } from '../engine.ts'
import { sqlStores } from '../sql/sql-stores.ts'
import { Heartbeat, presenceOf } from './heartbeat.ts'
import { PostgresKnowledge } from './knowledge/postgres-knowledge.ts'
import { migrate } from './migrate.ts'
import { PostgresDatabase } from './postgres-database.ts'
import { PostgresCacheFeed, PostgresLeases, sweep } from './postgres-sharing.ts'
import { PostgresStatements } from './postgres-statements.ts'

const CONNECTIONS = 8
const SWEEP_EVERY_MS = 60_000
const NO_VECTORS = 'The database has no pgvector: collections are searched by words only'

/** A storage thread that was started again goes on with what the one before it had leased. */
const TAKE_OVER = 'UPDATE toolyard.leases SET instance = $1 WHERE instance = ANY ($2)'

/** Opens the store that several servers share: the schema `toolyard` of a PostgreSQL database. */
export async function openPostgresEngine(
  options: StorageOptions & { readonly url: string },
  { log, clock = systemClock }: { readonly log: Log; readonly clock?: Clock },
): Promise<Engine> {
  const presence = presenceOf(options)
  const { instance, aliveMs } = presence
  const database = await PostgresDatabase.open(options.url, CONNECTIONS)
  const heartbeat = new Heartbeat(() => database.client(), presence, log)
  let vectors: boolean
  try {
    vectors = (await migrate(database)).vectors
    if (!vectors) writeLog(log, 'warn', {}, NO_VECTORS)
    await heartbeat.open()
    await database.run(TAKE_OVER, [instance, presence.names.slice(1)])
  } catch (error) {
    await heartbeat.close()
    await database.close()
    throw error
  }
  const knowledge = new PostgresKnowledge(database, { vectors, clock, log })
  const { sweep: sweepStores, ...stores } = sqlStores(
    new PostgresStatements(database, presence),
    clock,
    options.keepDays,
  )
  const sweeper = setInterval(async () => {
    try {
      knowledge.clean()
      await sweepStores()
      await sweep(database, { instance, aliveMs, now: clock.wall() })
    } catch (err) {
      writeLog(log, 'warn', { err }, 'Expired records could not be removed from the store')
    }
  }, SWEEP_EVERY_MS).unref()
  return {
    ...stores,
    knowledge,
    leases: new PostgresLeases(database, presence, heartbeat),
    cache: new PostgresCacheFeed(database, instance, clock),
    onChange: (listener) => heartbeat.onChange(listener),
    async status(): Promise<StorageStatus> {
      const status = { engine: 'postgres', ready: true, vectors } as const
      if (heartbeat.problem !== undefined) return { ...status, ready: false, problem: heartbeat.problem }
      try {
        await database.run('SELECT')
        return status
      } catch (error) {
        return { ...status, ready: false, problem: (error as Error).message }
      }
    },
    async close() {
      clearInterval(sweeper)
      await knowledge.close()
      await heartbeat.close()
      await database.close()
    },
  }
}
