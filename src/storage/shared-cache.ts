import { backgroundClock, type Clock } from '../core/clock.ts'
import { type Log, writeLog } from '../core/log.ts'
import type { CacheEntry, CacheFeed } from '../core/storage/lease-store.ts'

/** How long results are collected before they are sent. */
const COLLECT_MS = 50
const BATCH_LIMIT = 100
/** Larger results are not shared: computing them again is cheaper. */
const MAX_ENTRY_CHARACTERS = 64 * 1024
/** Further results are not shared while this many wait. */
const MAX_WAITING = 1_000
const MAX_WAITING_CHARACTERS = 16 * 1024 * 1024

export interface SharedCacheOptions {
  readonly log: Log
  readonly clock?: Clock
  /** Adds a result of another server to the cache of this one. */
  deliver(key: string, text: string, ttlMs: number): void
}

/** Shares cached results with other servers. Calls neither wait for it nor fail with it. */
export class SharedCache {
  readonly #feed: CacheFeed
  readonly #log: Log
  readonly #clock: Clock
  readonly #deliver: SharedCacheOptions['deliver']
  #waiting: CacheEntry[] = []
  #characters = 0
  #cancel: (() => void) | undefined
  #sending: Promise<void> | undefined
  #pulling: Promise<void> | undefined
  #pullAgain = false
  #failing = false

  constructor(feed: CacheFeed, { log, clock = backgroundClock, deliver }: SharedCacheOptions) {
    this.#feed = feed
    this.#log = log
    this.#clock = clock
    this.#deliver = deliver
  }

  /** Shares a result of this server, given as JSON text. */
  put(key: string, text: string, ttlMs: number): void {
    const characters = key.length + text.length
    if (characters > MAX_ENTRY_CHARACTERS || key.includes('\0') || text.includes('\0')) return
    if (this.#waiting.length >= MAX_WAITING || this.#characters + characters > MAX_WAITING_CHARACTERS) return
    this.#waiting.push({ key, text, expiresAt: this.#clock.wall() + ttlMs })
    this.#characters += characters
    this.#cancel ??= this.#clock.after(COLLECT_MS, () => this.#send())
  }

  /** Must be called on every change of the store's feed, and once at the start. */
  changed(): void {
    this.#pullAgain = true
    this.#pulling ??= this.#pull()
  }

  /** Sends the collected results. */
  async close(): Promise<void> {
    this.#cancel?.()
    await this.#sending
    await this.#sendAll()
    await this.#pulling
  }

  #send(): void {
    this.#cancel = undefined
    this.#sending ??= this.#sendAll()
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const entries = this.#waiting.splice(0, BATCH_LIMIT)
      for (const { key, text } of entries) this.#characters -= key.length + text.length
      await this.#try(() => this.#feed.put(entries))
    }
    this.#sending = undefined
  }

  async #pull(): Promise<void> {
    while (this.#pullAgain) {
      this.#pullAgain = false
      await this.#try(async () => {
        const entries = await this.#feed.news()
        if (entries.length > 0) this.#pullAgain = true
        for (const { key, text, expiresAt } of entries) {
          const ttlMs = expiresAt - this.#clock.wall()
          if (ttlMs > 0) this.#deliver(key, text, ttlMs)
        }
      })
    }
    this.#pulling = undefined
  }

  /** Failures are not retried, since it is only a cache, and are logged once until it works again. */
  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work()
      this.#failing = false
    } catch (err) {
      if (!this.#failing) writeLog(this.#log, 'warn', { err }, 'Cached results cannot be shared with other servers')
      this.#failing = true
    }
  }
}
