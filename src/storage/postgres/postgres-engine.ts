import { type Clock, systemClock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { Company, LeaseRequest, LeaseStore } from '../../core/storage/lease-store.ts'
import type { Change, StorageStatus } from '../../core/storage/storage.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { replaceNul } from '../ledger/storable-text.ts'
import type { Answer, Database, Statement, Work } from '../sql/database.ts'
import type { Engine, StorageOptions } from '../sql/engine.ts'
import { sqlStores } from '../sql/sql-stores.ts'
import { migrations } from './migrations.ts'
import { Heartbeat, PostgresDatabase, type Presence, presenceOf, type Statements } from './postgres-database.ts'
import { postgresKnowledge } from './postgres-knowledge.ts'

const CONNECTIONS = 8
const SWEEP_EVERY_MS = 60_000
const NO_VECTORS = 'The database has no pgvector: collections are searched by words only'

/** A restarted storage thread takes over the leases of the one before. */
const TAKE_OVER = 'UPDATE toolyard.leases SET instance = $1 WHERE instance = ANY ($2)'

/** Opens the store that several servers share, in the schema `toolyard` of a PostgreSQL database. */
export async function openPostgresEngine(
  options: StorageOptions & { readonly url: string },
  { log, clock = systemClock, answerMs }: { readonly log: Log; readonly clock?: Clock; readonly answerMs?: number },
): Promise<Engine> {
  const presence = presenceOf(options)
  const { instance, aliveMs } = presence
  const database = await PostgresDatabase.open(options.url, CONNECTIONS, answerMs)
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
  const knowledge = postgresKnowledge(database, { vectors, clock, log })
  const { sweep: sweepStores, ...stores } = sqlStores(
    new PostgresStatements(database, presence),
    clock,
    options.keepDays,
  )
  const sweeper = setInterval(async () => {
    try {
      knowledge.clean()
      await sweepStores()
      await sweep(database, { instance, aliveMs })
    } catch (err) {
      writeLog(log, 'warn', { err }, 'Expired records could not be removed from the store')
    }
  }, SWEEP_EVERY_MS).unref()
  return {
    ...stores,
    knowledge,
    leases: new PostgresLeases(database, presence, heartbeat),
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

/** Changes are rare, so all of them use one lock. */
const LOCK = 'SELECT pg_advisory_xact_lock(7203)'
const NOTIFY = "SELECT pg_notify('toolyard', $1)"

/** Runs the statements of the stores on PostgreSQL. */
export class PostgresStatements implements Database {
  readonly names: readonly string[]
  readonly sliceRows = undefined
  readonly #database: PostgresDatabase
  readonly #presence: Presence
  readonly #translated = new Map<string, string>()

  constructor(database: PostgresDatabase, presence: Presence) {
    this.names = presence.names
    this.#database = database
    this.#presence = presence
  }

  run<Row>(sql: string, values: readonly unknown[] = [], limitMs?: number): Promise<Answer<Row>> {
    const text = this.#translate(sql)
    if (limitMs === undefined) return this.#database.run<Row>(text, values)
    return this.#database.transaction((statements) => statements.run<Row>(text, values), limitMs)
  }

  transaction<T>(work: () => Work<T>, limitMs?: number): Promise<T> {
    return this.#database.transaction(async (statements) => {
      const steps = work()
      let next = steps.next()
      while (!next.done) {
        const { sql, values } = next.value
        next = steps.next(await statements.run<never>(this.#translate(sql), values))
      }
      return next.value
    }, limitMs)
  }

  change<T>(topic: Change, work: () => Work<T>): Promise<T> {
    return this.transaction(function* () {
      yield { sql: LOCK, values: [] }
      const value = yield* work()
      yield { sql: NOTIFY, values: [topic] }
      return value
    })
  }

  alive(column: string): Statement {
    return { sql: `toolyard.is_alive(${column}, ?, ?)`, values: [this.#presence.instance, this.#presence.aliveMs] }
  }

  insert(
    table: string,
    columns: Readonly<Record<string, string>>,
    rows: readonly (readonly unknown[])[],
    onConflict = '',
  ): Statement {
    const arrays = Object.values(columns).map((type) => `?::${type}[]`)
    // A copy keeps its ids.
    const into = ['INSERT INTO', table, '(', Object.keys(columns).join(', '), ') OVERRIDING SYSTEM VALUE']
    return {
      sql: [...into, 'SELECT * FROM unnest(', arrays.join(', '), ')', onConflict].join(' '),
      values: Object.values(columns).map((_, index) => rows.map((row) => columnValue(row[index]))),
    }
  }

  remove(table: string, column: string, texts: readonly string[]): Statement {
    return { sql: ['DELETE FROM', table, 'WHERE', column, '= ANY (?::text[])'].join(' '), values: [texts] }
  }

  #translate(sql: string): string {
    let text = this.#translated.get(sql)
    if (text === undefined) {
      let count = 0
      text = sql.replaceAll('?', () => `$${++count}`)
      this.#translated.set(sql, text)
    }
    return text
  }
}

function columnValue(value: unknown): unknown {
  if (typeof value === 'string') return replaceNul(value)
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return value
}

const LEASE = 'SELECT leased, held FROM toolyard.lease($1, $2, $3, $4, $5, $6, $7)'

/** Leases of rate limits. */
class PostgresLeases implements LeaseStore {
  readonly #database: PostgresDatabase
  readonly #presence: Presence
  readonly #heartbeat: Heartbeat

  constructor(database: PostgresDatabase, presence: Presence, heartbeat: Heartbeat) {
    this.#database = database
    this.#presence = presence
    this.#heartbeat = heartbeat
  }

  async lease(requests: readonly LeaseRequest[]): Promise<readonly number[]> {
    // If there are several requests for one key, the last counts.
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

const LEASES = `
  DELETE FROM toolyard.leases WHERE amount = 0
    OR expires_at < now() - interval '1 day' AND NOT toolyard.is_alive(instance, $1, $2)`

const INSTANCES = "DELETE FROM toolyard.instances WHERE seen_at < now() - interval '1 day'"

/** Removes expired leases and instances. */
export async function sweep(
  database: PostgresDatabase,
  by: { readonly instance: string; readonly aliveMs: number },
): Promise<void> {
  await database.run(LEASES, [by.instance, by.aliveMs])
  await database.run(INSTANCES)
}

/** Long enough for a large migration, also while another server runs it. */
const LIMIT_MS = 120_000
/** A number that no other lock in the database uses. */
const MIGRATION_LOCK = 7_200

/** Migrates a database. If several servers start at once, one migrates and the others wait. */
export async function migrate(database: PostgresDatabase): Promise<{ readonly vectors: boolean }> {
  return database.transaction(async (statements) => {
    await statements.run('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    // Checked first: `IF NOT EXISTS` needs the right to create, even if the schema exists.
    const { rows } = await statements.run<{ there: boolean }>("SELECT to_regnamespace('toolyard') IS NOT NULL AS there")
    if (!rows[0]?.there) await statements.run('CREATE SCHEMA toolyard')
    await statements.run(`
      CREATE TABLE IF NOT EXISTS toolyard.migrations (
        version integer PRIMARY KEY,
        applied_at timestamptz NOT NULL DEFAULT now()
      )`)
    await apply(statements)
    return { vectors: await addVectors(statements) }
  }, LIMIT_MS)
}

async function apply(statements: Statements): Promise<void> {
  const { rows } = await statements.run<{ version: number }>(
    'SELECT coalesce(max(version), 0) AS version FROM toolyard.migrations',
  )
  const version = rows[0]?.version ?? 0
  if (version > migrations.length) {
    throw new ToolExecutionError(
      'SERVICE_UNAVAILABLE',
      `The database was written by a newer version of Toolyard (its version is ${version}, this one knows up to ` +
        `${migrations.length}): use that version, or another database`,
    )
  }
  for (const [index, migration] of migrations.entries()) {
    if (index < version) continue
    await statements.run(migration)
    await statements.run('INSERT INTO toolyard.migrations (version) VALUES ($1)', [index + 1])
  }
}

const VECTOR_TABLES = `
  CREATE TABLE IF NOT EXISTS toolyard.knowledge_vectors (
    chunk bigint PRIMARY KEY REFERENCES toolyard.knowledge_chunks ON DELETE CASCADE,
    vector vector NOT NULL
  );
  -- Small, so that all of a collection are scanned quickly.
  CREATE TABLE IF NOT EXISTS toolyard.knowledge_codes (
    chunk bigint PRIMARY KEY REFERENCES toolyard.knowledge_chunks ON DELETE CASCADE,
    collection integer NOT NULL,
    code bit varying NOT NULL
  );
  CREATE INDEX IF NOT EXISTS knowledge_codes_by_collection ON toolyard.knowledge_codes (collection)`

/** `bit_count` exists since PostgreSQL 14. */
const COUNT_BITS = "SELECT bit_count(B'1')"

/** Whether pgvector is installed or could be added. Everything else works without it. */
async function addVectors(statements: Statements): Promise<boolean> {
  await statements.run('SAVEPOINT vectors')
  try {
    await statements.run(COUNT_BITS)
    await statements.run('CREATE EXTENSION IF NOT EXISTS vector')
    await statements.run(VECTOR_TABLES)
    return true
  } catch {
    await statements.run('ROLLBACK TO SAVEPOINT vectors')
    return false
  }
}
