import type { Clock } from '../../../core/clock.ts'
import type { Holder, Session } from './session.ts'

export interface SessionLimits {
  readonly maxSessions: number
  readonly idleMs: number
}

/** The sessions of an HTTP server: bounded in number, and ended when nobody has used them for long. */
export class SessionTable {
  /** The one that was used longest ago comes first. */
  readonly #sessions = new Map<string, Session>()
  readonly #clock: Clock
  readonly #limits: SessionLimits
  #stopSweep: (() => void) | undefined = undefined

  constructor(clock: Clock, limits: SessionLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  get size(): number {
    return this.#sessions.size
  }

  /** Adds a session. If the table is full, one of the greediest holder ends. */
  add(session: Session): void {
    if (this.#sessions.size >= this.#limits.maxSessions) {
      const victim = oldestOfGreediest(this.#sessions.values(), session)
      if (victim !== undefined) this.end(victim)
    }
    this.#sessions.set(session.id, session)
    this.#sweepLater()
  }

  /** The session of that id, where it belongs to this owner. */
  find(id: string, owner: string): Session | undefined {
    const session = this.#sessions.get(id)
    return session?.owner === owner ? session : undefined
  }

  /** Notes that a request of the session has come; gives what to do when it is over. */
  use(session: Session): () => void {
    session.open++
    this.#touch(session)
    return () => {
      session.open--
      this.#touch(session)
    }
  }

  /** Ends a session: its streams, and the calls that run for it. */
  end(session: Session): void {
    this.forget(session)
    session.connection.close().catch(() => {})
  }

  /** Lets go of a session that has ended. */
  forget(session: Session): void {
    if (this.#sessions.get(session.id) !== session) return
    this.#sessions.delete(session.id)
    for (const cancellation of session.calls.values()) cancellation.abort(undefined)
  }

  close(): void {
    this.#stopSweep?.()
    this.#stopSweep = undefined
    for (const session of [...this.#sessions.values()]) this.end(session)
  }

  #touch(session: Session): void {
    session.lastUsedMs = this.#clock.now()
    if (!this.#sessions.delete(session.id)) return
    this.#sessions.set(session.id, session)
  }

  #sweepLater(): void {
    this.#stopSweep ??= this.#clock.after(this.#limits.idleMs / 2, () => {
      this.#stopSweep = undefined
      const now = this.#clock.now()
      for (const session of [...this.#sessions.values()]) {
        if (session.open === 0 && now - session.lastUsedMs >= this.#limits.idleMs) this.end(session)
      }
      if (this.#sessions.size > 0) this.#sweepLater()
    })
  }
}

/**
 * The entry that makes room for one of `newcomer`: the first one of the key with the most entries, within the tenant
 * with the most. Of equals it is the newcomer's own, so that nobody gains a place from somebody with as few.
 */
export function oldestOfGreediest<Entry extends Holder>(entries: Iterable<Entry>, newcomer: Holder): Entry | undefined {
  const all = [...entries]
  const tenant = most(all, newcomer.tenant, (entry) => entry.tenant)
  const ofTenant = all.filter((entry) => entry.tenant === tenant)
  const owner = most(ofTenant, newcomer.owner, (entry) => entry.owner)
  return ofTenant.find((entry) => entry.owner === owner)
}

/** The most frequent name; `preferred` if it is among several. */
function most<Entry>(entries: readonly Entry[], preferred: string, nameOf: (entry: Entry) => string): string {
  const counts = new Map<string, number>()
  for (const entry of entries) counts.set(nameOf(entry), (counts.get(nameOf(entry)) ?? 0) + 1)
  let best = preferred
  for (const [name, count] of counts) if (count > (counts.get(best) ?? 0)) best = name
  return best
}
