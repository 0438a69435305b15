import type { Client } from 'pg'
import { type Log, writeLog } from '../../core/log.ts'
import type { Company } from '../../core/storage/lease-store.ts'
import type { Change } from '../../core/storage/storage.ts'
import { ALIVE_MS, CHANGES, ChangeListeners, type StorageOptions } from '../sql/engine.ts'
import { postgresError } from './postgres-database.ts'

/** The identity of this process among the servers. */
export interface Presence {
  readonly instance: string
  /** Its names, the current one first. */
  readonly names: readonly string[]
  /** A server without a heartbeat for this long counts as dead. */
  readonly aliveMs: number
  /** The interval of heartbeats. */
  readonly beatMs: number
}

export const presenceOf = ({ instance, formerly = [], aliveMs = ALIVE_MS }: StorageOptions): Presence => ({
  instance,
  names: [instance, ...formerly],
  aliveMs,
  beatMs: aliveMs / 5,
})

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 2_000

const BEAT = `
  INSERT INTO toolyard.instances AS i (instance, seen_at) SELECT unnest($1::text[]), now()
  ON CONFLICT (instance) DO UPDATE SET
    seen_at = now(),
    back_at = CASE WHEN i.seen_at <= now() - $2 * interval '1 millisecond' THEN now() ELSE i.back_at END
  RETURNING (
    SELECT count(*) FROM toolyard.instances o
    WHERE o.instance <> ALL ($1) AND toolyard.is_alive(o.instance, $3, $2)
  ) AS others`

const END = 'UPDATE toolyard.instances SET seen_at = now(), ended_at = now() WHERE instance = ANY ($1)'

/**
 * The connection for heartbeats and for notifications of changes. After a reconnect everything counts as changed, since
 * notifications may have been missed.
 */
export class Heartbeat {
  readonly #dial: () => Client
  readonly #presence: Presence
  readonly #log: Log
  readonly #listeners: ChangeListeners
  #client: Client | undefined
  #problem: string | undefined
  #servers = 1
  /** The time of the last heartbeat, and of the last one with another server alive. */
  #beatAt = 0
  #companyAt = 0
  #gap: { readonly from: number; readonly to: number } | undefined
  #pauseMs = FIRST_PAUSE_MS
  #timer: NodeJS.Timeout | undefined
  #busy: Promise<void> = Promise.resolve()
  #closed = false

  constructor(dial: () => Client, presence: Presence, log: Log) {
    this.#dial = dial
    this.#presence = presence
    this.#log = log
    this.#listeners = new ChangeListeners(log)
  }

  /** Why there is no connection. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** The servers at the last heartbeat. */
  get company(): Company {
    const gap = this.#gap
    return {
      servers: this.#servers,
      aloneMs: this.#beatAt - this.#companyAt,
      ...(gap && { gap: { lastedMs: gap.to - gap.from, agoMs: performance.now() - gap.to } }),
    }
  }

  onChange(listener: (change: Change) => void): () => void {
    return this.#listeners.add(listener)
  }

  /** Rejects if the database cannot be reached: only a lost connection is retried. */
  async open(): Promise<void> {
    await this.#connect()
  }

  /** Tells the others that this server is gone. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#busy
    const client = this.#client
    this.#client = undefined
    if (client === undefined) return
    // If this fails, the others notice the missing heartbeats.
    await client.query(END, [this.#presence.names]).catch(() => {})
    await client.end().catch(() => {})
  }

  async #connect(): Promise<void> {
    const client = this.#dial()
    client.on('error', (error) => this.#lost(client, error))
    client.on('end', () => this.#lost(client, undefined))
    client.on('notification', ({ payload }) => {
      const change = CHANGES.find((known) => known === payload)
      if (change !== undefined) this.#listeners.tell(change)
    })
    try {
      await client.connect()
      await client.query('LISTEN toolyard')
      await this.#say(client)
    } catch (error) {
      client.end().catch(() => {})
      throw postgresError(error)
    }
    this.#client = client
    this.#problem = undefined
    this.#pauseMs = FIRST_PAUSE_MS
    this.#next(this.#presence.beatMs)
  }

  async #say(client: Client): Promise<void> {
    const { names, instance, aliveMs } = this.#presence
    const now = performance.now()
    const { rows } = await client.query<{ others: number }>(BEAT, [names, aliveMs, instance])
    const others = rows[0]?.others ?? 0
    this.#servers = 1 + others
    if (others > 0 || this.#beatAt === 0) this.#companyAt = now
    this.#beatAt = now
  }

  #next(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      this.#busy = this.#client === undefined ? this.#reconnect() : this.#beat(this.#client)
    }, ms)
  }

  async #beat(client: Client): Promise<void> {
    try {
      await this.#say(client)
      this.#next(this.#presence.beatMs)
    } catch (error) {
      this.#lost(client, error)
    }
  }

  #lost(client: Client, error: unknown): void {
    if (client !== this.#client) return
    this.#client = undefined
    this.#problem = postgresError(error).message
    client.end().catch(() => {})
    writeLog(this.#log, 'error', {}, `${this.#problem}. Reconnecting until it answers.`)
    this.#next(FIRST_PAUSE_MS)
  }

  async #reconnect(): Promise<void> {
    const lastBeatAt = this.#beatAt
    try {
      await this.#connect()
    } catch {
      this.#pauseMs = Math.min(MAX_PAUSE_MS, this.#pauseMs * 2)
      this.#next(this.#pauseMs)
      return
    }
    writeLog(this.#log, 'info', {}, 'The database answers again')
    this.#gap = { from: lastBeatAt, to: performance.now() }
    for (const change of CHANGES) this.#listeners.tell(change)
  }
}
