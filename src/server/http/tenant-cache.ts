import { LRUCache } from 'lru-cache'
import type { Clock } from '../../core/clock.ts'

const TTL_MS = 60 * 60_000
const MAX_ENTRIES = 10_000
const MAX_CHARACTERS = 64 * 1024 * 1024

/**
 * What the server needs for the next request of a client, for an hour. If there is too much, the oldest entries of the
 * tenant with most are removed, so that no tenant displaces those of others.
 */
export class TenantCache<Value extends object> {
  readonly #clock: Clock
  readonly #sizeOf: (value: Value) => number
  readonly #tenants = new Map<string, LRUCache<string, Value>>()

  constructor(clock: Clock, sizeOf: (value: Value) => number) {
    this.#clock = clock
    this.#sizeOf = sizeOf
  }

  get(tenant: string, key: string): Value | undefined {
    return this.#tenants.get(tenant)?.get(key)
  }

  set(tenant: string, key: string, value: Value): void {
    const entries = this.#tenants.get(tenant) ?? this.#newCache()
    this.#tenants.set(tenant, entries)
    entries.set(key, value)
    for (let most = this.#greediest(); most !== undefined; most = this.#greediest()) most.pop()
  }

  delete(tenant: string, key: string): void {
    this.#tenants.get(tenant)?.delete(key)
  }

  #newCache(): LRUCache<string, Value> {
    return new LRUCache({
      maxSize: MAX_CHARACTERS,
      sizeCalculation: (value) => Math.max(1, this.#sizeOf(value)),
      ttl: TTL_MS,
      updateAgeOnGet: true,
      ttlResolution: 0,
      perf: { now: () => this.#clock.now() },
    })
  }

  /** The entries of the tenant with most; undefined if there is room for more. */
  #greediest(): LRUCache<string, Value> | undefined {
    let [characters, count] = [0, 0]
    let most: LRUCache<string, Value> | undefined
    for (const [tenant, entries] of this.#tenants) {
      if (entries.size === 0) this.#tenants.delete(tenant)
      characters += entries.calculatedSize
      count += entries.size
      if (most === undefined || shareOf(entries) > shareOf(most)) most = entries
    }
    return characters > MAX_CHARACTERS || count > MAX_ENTRIES ? most : undefined
  }
}

const shareOf = ({ calculatedSize, size }: { readonly calculatedSize: number; readonly size: number }): number =>
  Math.max(calculatedSize / MAX_CHARACTERS, size / MAX_ENTRIES)
