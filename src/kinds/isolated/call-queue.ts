/**
 * Calls that wait, first come first served within a tenant, and the tenants in turn: a tenant that was just served
 * goes to the end of the round.
 */
export class CallQueue<T extends { readonly tenant: string }> {
  readonly #waiting = new Map<string, T[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(call: T): void {
    const line = this.#waiting.get(call.tenant)
    if (line === undefined) this.#waiting.set(call.tenant, [call])
    else line.push(call)
    this.#size++
  }

  /** Takes the next call that `fits`. */
  take(fits: (call: T) => boolean): T | undefined {
    for (const [tenant, line] of this.#waiting) {
      const at = line.findIndex(fits)
      if (at === -1) continue
      const [call] = line.splice(at, 1)
      this.#size--
      this.#waiting.delete(tenant)
      if (line.length > 0) this.#waiting.set(tenant, line)
      return call
    }
    return undefined
  }

  remove(call: T): void {
    const line = this.#waiting.get(call.tenant)
    const at = line?.indexOf(call) ?? -1
    if (line === undefined || at === -1) return
    line.splice(at, 1)
    this.#size--
    if (line.length === 0) this.#waiting.delete(call.tenant)
  }

  /** All that waits, in the order in which tenants come round. */
  *[Symbol.iterator](): Generator<T> {
    for (const line of this.#waiting.values()) yield* line
  }
}
