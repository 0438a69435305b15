import { LRUCache } from 'lru-cache'
import type { Clock } from './clock.ts'
import type { OnceClaim, OnceState, OnceStore } from './storage/once-store.ts'
import type { ToolResult } from './tool-result.ts'

const MOST_ENTRIES = 10_000

interface Entry {
  readonly fingerprint: string
  result: ToolResult | undefined
}

/** Remembers the answers of keyed calls as long as the process lives. */
export class MemoryOnce implements OnceStore {
  readonly #clock: Clock
  readonly #entries: LRUCache<string, Entry>

  constructor(clock: Clock) {
    this.#clock = clock
    this.#entries = new LRUCache({ max: MOST_ENTRIES, ttlResolution: 0, perf: { now: () => clock.wall() } })
  }

  async claim(claim: OnceClaim): Promise<OnceState> {
    const name = nameOf(claim)
    const entry = this.#entries.get(name)
    if (entry === undefined) {
      const ttl = Math.max(1, claim.expiresAt - this.#clock.wall())
      this.#entries.set(name, { fingerprint: claim.fingerprint, result: undefined }, { ttl })
      return { state: 'fresh' }
    }
    if (entry.fingerprint !== claim.fingerprint) return { state: 'other' }
    return entry.result === undefined ? { state: 'running' } : { state: 'done', result: entry.result }
  }

  async settle(claim: OnceClaim, result: ToolResult): Promise<void> {
    const entry = this.#entries.get(nameOf(claim))
    if (entry !== undefined) entry.result = result
  }

  async release(claim: OnceClaim): Promise<void> {
    this.#entries.delete(nameOf(claim))
  }
}

const nameOf = ({ tenant, caller, key }: OnceClaim): string => JSON.stringify([tenant, caller, key])
