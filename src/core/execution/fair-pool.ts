export interface FairPoolOptions {
  /** How many places there are. */
  readonly size: number
  /** How many places one tenant may hold; by default half of them. */
  readonly share?: number | undefined
  /** How many callers of one tenant may wait for a place. */
  readonly queue: number
}

/**
 * Counts the places of a shared resource, and decides which waiting caller is next. Tenants take turns, each in the
 * order of arrival, and a tenant that holds half of the places yields to others that wait. The work of each operation
 * doesn't grow with the number of callers, except for `fits`. The owner of the resource starts and ends the work.
 */
export class FairPool<T extends { readonly tenant: string }> {
  readonly #size: number
  readonly #half: number
  readonly #share: number
  readonly #queue: number
  readonly #held = new Map<string, number>()
  /** The tenant whose turn is next comes first. */
  readonly #waiting = new Map<string, Set<T>>()
  #taken = 0
  #waits = 0

  constructor({ size, share, queue }: FairPoolOptions) {
    this.#size = size
    this.#half = Math.max(1, Math.floor(size / 2))
    this.#share = share ?? this.#half
    this.#queue = queue
  }

  get taken(): number {
    return this.#taken
  }

  get waiting(): number {
    return this.#waits
  }

  /** Whether a place is free that this tenant may hold, besides `more` that it is about to take. */
  hasRoom(tenant: string, more = 0): boolean {
    return this.#taken + more < this.#size && this.#holds(tenant) + more < this.#share
  }

  /** Takes a place without waiting. Returns false if there is none for the tenant. */
  enter(tenant: string): boolean {
    if (!this.hasRoom(tenant)) return false
    this.#taken++
    this.#held.set(tenant, this.#holds(tenant) + 1)
    return true
  }

  /** Gives a place back. Call `take` for the next caller. */
  leave(tenant: string): void {
    this.#taken--
    const held = this.#holds(tenant) - 1
    if (held > 0) this.#held.set(tenant, held)
    else this.#held.delete(tenant)
  }

  /** Lets a caller wait. Returns false if as many callers of its tenant wait as may. */
  add(caller: T): boolean {
    const line = this.#waiting.get(caller.tenant)
    if ((line?.size ?? 0) >= this.#queue) return false
    if (line === undefined) this.#waiting.set(caller.tenant, new Set([caller]))
    else line.add(caller)
    this.#waits++
    return true
  }

  /** Lets a caller wait no longer, for example because it was cancelled. Returns false if it didn't wait. */
  remove(caller: T): boolean {
    const line = this.#waiting.get(caller.tenant)
    if (!line?.delete(caller)) return false
    this.#waits--
    if (line.size === 0) this.#waiting.delete(caller.tenant)
    return true
  }

  /** Takes a place for the next waiting caller that `fits`. */
  take(fits?: (caller: T) => boolean): T | undefined {
    if (this.#waits === 0 || this.#taken >= this.#size) return undefined
    return this.#next(this.#half, fits) ?? (this.#share > this.#half ? this.#next(this.#share, fits) : undefined)
  }

  *[Symbol.iterator](): Generator<T> {
    for (const line of this.#waiting.values()) yield* line
  }

  #next(most: number, fits: (caller: T) => boolean = () => true): T | undefined {
    for (const [tenant, line] of this.#waiting) {
      if (this.#holds(tenant) >= Math.min(most, this.#share)) continue
      for (const caller of line) {
        if (!fits(caller)) continue
        this.remove(caller)
        this.enter(tenant)
        // The tenant's next turn comes after those of all others.
        if (line.size > 0 && this.#waiting.delete(tenant)) this.#waiting.set(tenant, line)
        return caller
      }
    }
    return undefined
  }

  #holds(tenant: string): number {
    return this.#held.get(tenant) ?? 0
  }
}
