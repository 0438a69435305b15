import { backgroundClock, type Clock } from '../core/clock.ts'
import { type Log, writeLog } from '../core/log.ts'
import type { CacheEntry, CacheFeed } from '../core/storage/lease-store.ts'

/** Results are collected for so long, and handed on in batches. */
const COLLECT_MS = 50
const MOST_AT_ONCE = 100
/** Characters of key and text: larger results are worth computing again. */
const LARGEST = 64 * 1024
/** What waits to be handed on; more is not shared. */
const MOST_WAITING = 1_000
const MOST_WAITING_CHARACTERS = 16 * 1024 * 1024

export interface SharedCacheOptions {
  readonly log: Log
  readonly clock?: Clock
  /** Takes a result of another server into the cache of this one. */
  deliver(key: string, text: string, ttlMs: number): void
}

/** Tells other servers of results, and takes up theirs. No call waits for it, and none fails with it. */
export class SharedCache {
  readonly #feed: CacheFeed
  readonly #log: Log
  readonly #clock: Clock
  readonly #deliver: SharedCacheOptions['deliver']
  #waiting: CacheEntry[] = []
  #characters = 0
  #callOff: (() => void) | undefined
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

  /** A result of this server's own, as JSON text. */
  put(key: string, text: string, ttlMs: number): void {
    const characters = key.length + text.length
    if (characters > LARGEST || key.includes('\0') || text.includes('\0')) return
    if (this.#waiting.length >= MOST_WAITING || this.#characters + characters > MOST_WAITING_CHARACTERS) return
    this.#waiting.push({ key, text, expiresAt: this.#clock.wall() + ttlMs })
    this.#characters += characters
    this.#callOff ??= this.#clock.after(COLLECT_MS, () => this.#send())
  }

  /** To be called when the store says that there is news, and once at the start. */
  changed(): void {
    this.#pullAgain = true
    this.#pulling ??= this.#pull()
  }

  /** Hands on what has been collected. */
  async close(): Promise<void> {
    this.#callOff?.()
    await this.#sending
    await this.#sendAll()
    await this.#pulling
  }

  #send(): void {
    this.#callOff = undefined
    this.#sending ??= this.#sendAll()
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const entries = this.#waiting.splice(0, MOST_AT_ONCE)
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

  /** What fails is not tried again: it is only a cache. Said once until it works again. */
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
