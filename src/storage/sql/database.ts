import type { Clock } from '../../core/clock.ts'
import type { Change } from '../../core/storage/storage.ts'
import type { Table } from './table.ts'

/** The rows that a statement returned, and how many rows it returned or changed. */
export interface Answer<Row> {
  readonly rows: readonly Row[]
  readonly count: number
}

/**
 * One statement for both engines: `?` stands for a value, and tables are named with their schema (`toolyard.runs`).
 * Each engine translates both, once per text.
 */
export interface Statement {
  readonly sql: string
  readonly values: readonly unknown[]
  /** The statement runs once for each of these instead of once with `values`. */
  readonly rows?: readonly (readonly unknown[])[]
}

/**
 * The statements of a transaction, as a generator that yields each one and receives its answer. SQLite runs it in one
 * go, so that nothing else can use the connection in between; PostgreSQL awaits each answer.
 */
export type Work<T> = Generator<Statement, T, Answer<never>>

/** Runs one statement of a transaction. */
export function* ask<Row>(sql: string, values: readonly unknown[] = []): Work<Answer<Row>> {
  return (yield { sql, values }) as Answer<Row>
}

/** What the stores need of a database, with the few things that the two engines do differently. */
export interface Database {
  /** The names of this process, the current one first. */
  readonly names: readonly string[]
  /** A search without an index reads this many rows at a time; undefined: all at once. */
  readonly sliceRows: number | undefined
  run<Row>(sql: string, values?: readonly unknown[], limitMs?: number): Promise<Answer<Row>>
  /** All or nothing. */
  transaction<T>(work: () => Work<T>, limitMs?: number): Promise<T>
  /**
   * A transaction that other servers are told about; one at a time runs in the whole installation. An urgent one also
   * succeeds if the disk of an embedded store is full.
   */
  change<T>(topic: Change, work: () => Work<T>, urgent?: boolean): Promise<T>
  /** A condition: the instance named in this column is alive. */
  alive(column: string): Statement
  /** Inserts at least one row. `columns` maps names to PostgreSQL types; texts hold no NUL. */
  insert(
    table: string,
    columns: Readonly<Record<string, string>>,
    rows: readonly (readonly unknown[])[],
    onConflict?: string,
  ): Statement
  /** Removes the rows with these texts in a column. */
  remove(table: string, column: string, texts: readonly string[]): Statement
}

/** What a tenant has stored. Each value is the tenant. A number of a vector takes 4 bytes. */
export const USAGE = `
  SELECT (SELECT count(*) FROM toolyard.jobs WHERE tenant = ? AND state IN ('queued', 'running')) AS queued_jobs,
    (SELECT count(*) FROM toolyard.durable_runs WHERE tenant = ? AND status IN ('running', 'waiting')) AS durable_runs,
    (SELECT CAST(coalesce(sum(documents), 0) AS bigint) FROM toolyard.knowledge_collections
      WHERE tenant = ? AND NOT gone) AS documents,
    (SELECT CAST(coalesce(sum(bytes + vectors * 4 * coalesce(dimensions, 0)), 0) AS bigint)
      FROM toolyard.knowledge_collections WHERE tenant = ? AND NOT gone)
      + coalesce((SELECT bytes FROM toolyard.job_bytes WHERE tenant = ?), 0) AS storage_bytes`

/** Counts the bytes of the jobs, chats, items and durable runs of a tenant. Older versions did not count those of durable runs. */
export const ADD_BYTES = `
  INSERT INTO toolyard.job_bytes (tenant, bytes) VALUES (?, ?)
  ON CONFLICT (tenant) DO UPDATE SET bytes =
    CASE WHEN job_bytes.bytes + excluded.bytes > 0 THEN job_bytes.bytes + excluded.bytes ELSE 0 END`

/** Counts what was removed. Locks rows in a fixed order to avoid deadlocks. */
export function* freeBytes(removed: readonly { readonly tenant: string; readonly bytes: number }[]): Work<void> {
  const freed = Map.groupBy(removed, ({ tenant }) => tenant)
  for (const tenant of [...freed.keys()].sort()) {
    yield* ask(ADD_BYTES, [tenant, -(freed.get(tenant)?.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0)])
  }
}

/** What expires: rows by their own time, which is past, and others because they are older than all stored records. */
export interface Expiry {
  readonly now: number
  /** When the oldest records that are still stored were written. */
  readonly before: number
}

interface Expiring {
  /** Removes what has expired. Called every minute. */
  sweep?(expiry: Expiry): Promise<void>
}

/** A store in the list of stores, with its tables. Other threads can call all methods of its port. */
export interface StoreEntry<Port> {
  readonly tables: readonly Table[]
  open(database: Database, clock: Clock, tables: readonly Table[]): Port & Expiring
}

export const DAY_MS = 86_400_000
/** One sweep removes at most this many rows, so that it does not delay other statements. */
export const SWEEP_LIMIT = 5_000

/** Conditions of a WHERE clause with their values. A condition whose value is undefined is left out. */
export class Where {
  readonly values: unknown[] = []
  readonly #texts: string[] = []

  get sql(): string {
    return this.#texts.join(' AND ') || 'true'
  }

  and(text: string, ...values: readonly unknown[]): this {
    if (!values.includes(undefined)) {
      this.#texts.push(text)
      this.values.push(...values)
    }
    return this
  }
}

/** `(?, ?, …)` for as many values. */
export const placeholders = (values: readonly unknown[]): string => `(${values.map(() => '?').join(', ')})`
