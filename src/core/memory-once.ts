import { LRUCache } from 'lru-cache'
import type { Clock } from './clock.ts'
import type { OnceClaim, OnceState, OnceStore } from './storage/once-store.ts'
import type { ToolResult } from './tool-result.ts'

const MOST_ENTRIES = 10_000
const MOST_CHARACTERS = 64 * 1024 * 1024

interface Entry {
  readonly fingerprint: string
  /** The answer as text, so that nobody who got it can change it. */
  readonly text: string
}

/** Remembers the answers of keyed calls as long as the process lives. */
export class MemoryOnce implements OnceStore {
  readonly #clock: Clock
  readonly #entries: LRUCache<string, Entry>

  constructor(clock: Clock) {
    this.#clock = clock
    this.#entries = new LRUCache({
      max: MOST_ENTRIES,
      maxSize: MOST_CHARACTERS,
      sizeCalculation: ({ text }, key) => text.length + key.length,
      ttlResolution: 0,
      perf: { now: () => clock.wall() },
    })
  }

  async claim(claim: OnceClaim): Promise<OnceState> {
    const name = nameOf(claim)
    const entry = this.#entries.get(name)
    if (entry === undefined) {
      this.#keep(claim, '')
      return { state: 'fresh' }
    }
    if (entry.fingerprint !== claim.fingerprint) return { state: 'other' }
    return entry.text === '' ? { state: 'running' } : { state: 'done', result: JSON.parse(entry.text) }
  }

  async settle(claim: OnceClaim, result: ToolResult): Promise<void> {
    this.#keep(claim, JSON.stringify(result))
  }

  async release(claim: OnceClaim): Promise<void> {
    this.#entries.delete(nameOf(claim))
  }

  #keep(claim: OnceClaim, text: string): void {
    const ttl = Math.max(1, claim.expiresAt - this.#clock.wall())
    this.#entries.set(nameOf(claim), { fingerprint: claim.fingerprint, text }, { ttl })
  }
}

const nameOf = ({ tenant, caller, key }: OnceClaim): string => JSON.stringify([tenant, caller, key])
