import type { Clock } from '../../../core/clock.ts'
import type { Session } from './session.ts'

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

  /**
   * Makes room for one more, at the expense of the session that was idle longest: one of the same owner where there is
   * one, so that nobody crowds out others. Says whether there is room.
   */
  hasRoom(owner: string): boolean {
    if (this.#sessions.size < this.#limits.maxSessions) return true
    const idle = [...this.#sessions.values()].filter((session) => session.open === 0)
    const victim = idle.find((session) => session.owner === owner) ?? idle[0]
    if (victim !== undefined) this.end(victim)
    return victim !== undefined
  }

  add(session: Session): void {
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
