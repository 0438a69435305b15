import type { Flight } from './flight.ts'
import { callKey } from './result-cache.ts'

/** The flights of one tool that identical calls may join. A key is worked out only when a second call comes. */
export class FlightTable {
  readonly #unkeyed = new Set<Flight>()
  readonly #keyed = new Map<string, Flight>()

  get size(): number {
    return this.#unkeyed.size + this.#keyed.size
  }

  add(flight: Flight): void {
    this.#unkeyed.add(flight)
  }

  delete(flight: Flight): void {
    if (flight.key === undefined) this.#unkeyed.delete(flight)
    else if (this.#keyed.get(flight.key) === flight) this.#keyed.delete(flight.key)
  }

  /** The flight of an identical call. */
  find(hash: string, key: string): Flight | undefined {
    for (const flight of this.#unkeyed) {
      this.#unkeyed.delete(flight)
      flight.key = callKey(hash, flight.tenant, flight.params)
      this.#keyed.set(flight.key, flight)
    }
    return this.#keyed.get(key)
  }
}
