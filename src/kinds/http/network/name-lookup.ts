import { lookup } from 'node:dns/promises'
import { errors } from 'undici'
import type { Clock } from '../../../core/clock.ts'

/** All addresses of a name. */
export type Lookup = (hostname: string) => Promise<readonly string[]>

/** Asks as every other program on this machine does: the hosts file, then DNS, in the order that the system prefers. */
export const systemLookup: Lookup = async (hostname) => {
  const found = await lookup(hostname, { all: true, order: 'verbatim' })
  return found.map(({ address }) => address)
}

const TIMEOUT_MS = 10_000

/**
 * Looks names up, each once at a time: the system answers few at a time, and many connections to one slow name would
 * keep all others waiting. Nothing is remembered once it is answered.
 */
export class NameLookup {
  readonly #lookup: Lookup
  readonly #clock: Clock
  readonly #running = new Map<string, Promise<readonly string[]>>()

  constructor(lookup: Lookup, clock: Clock) {
    this.#lookup = lookup
    this.#clock = clock
  }

  /** The addresses of a name, at least one; rejects with the resolver's own code. */
  find(hostname: string): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new errors.ConnectTimeoutError(`The name '${hostname}' was not found in time`))
      const cancel = this.#clock.after(TIMEOUT_MS, late)
      this.#shared(hostname).then(resolve, reject).finally(cancel)
    })
  }

  #shared(hostname: string): Promise<readonly string[]> {
    const running = this.#running.get(hostname)
    if (running !== undefined) return running
    const started = this.#ask(hostname).finally(() => this.#running.delete(hostname))
    this.#running.set(hostname, started)
    return started
  }

  async #ask(hostname: string): Promise<readonly string[]> {
    const found = await this.#lookup(hostname)
    if (found.length > 0) return found
    throw Object.assign(new Error(`The name '${hostname}' has no address`), { code: 'ENOTFOUND' })
  }
}
