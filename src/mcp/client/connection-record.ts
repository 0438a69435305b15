import type { Clock } from '../../core/clock.ts'
import type { ConnectFailure } from './connect-failure.ts'

/** How it stands with the line to a server. */
export interface ConnectionStanding extends Recorded {
  /** `not_reachable`: there is none, and none is being made just now. */
  readonly state: 'connected' | 'connecting' | 'not_reachable'
  readonly transport: 'stdio' | 'http' | 'sse'
}

interface Recorded {
  /** Since it was last lost, or begun anew: those that led to the connection there is now, or that have failed. */
  readonly attempts: number
  /** When the connection was made or lost, in milliseconds since 1970; undefined where there never was one. */
  readonly since: number | undefined
  /** How long it is until it is tried again. */
  readonly nextAttemptInMs: number | undefined
  /** What went wrong last, fit for everybody; it stays when the connection is there again. */
  readonly problem: { readonly text: string; readonly at: number } | undefined
  /** The last lines of the server's stderr, clean and bounded. */
  readonly stderr: string
}

/** What has happened to a connection, as far as somebody may want to see it. */
export class ConnectionRecord {
  readonly #clock: Clock
  #attempts = 0
  #since: number | undefined
  #nextAt: number | undefined
  #problem: Recorded['problem']
  #stderr = ''

  constructor(clock: Clock) {
    this.#clock = clock
  }

  attempted(): void {
    this.#attempts++
  }

  connected(): void {
    this.#since = this.#clock.wall()
  }

  failed({ told, stderr }: ConnectFailure): void {
    this.#problem = { text: told, at: this.#clock.wall() }
    if (stderr !== '') this.#stderr = stderr
  }

  lost(stderr: string): void {
    this.#attempts = 0
    this.#since = this.#clock.wall()
    this.#problem = { text: 'the connection was lost', at: this.#since }
    this.#stderr = stderr
  }

  /** Somebody wants it to be made anew; an attempt that is under way is the first. */
  renewed(underWay: boolean): void {
    this.#attempts = underWay ? 1 : 0
  }

  /** It is tried again after so long; without a time, nothing is waited for any more. */
  waits(ms?: number): void {
    this.#nextAt = ms === undefined ? undefined : this.#clock.now() + ms
  }

  read(): Recorded {
    return {
      attempts: this.#attempts,
      since: this.#since,
      nextAttemptInMs: this.#nextAt === undefined ? undefined : Math.max(0, this.#nextAt - this.#clock.now()),
      problem: this.#problem,
      stderr: this.#stderr,
    }
  }
}
