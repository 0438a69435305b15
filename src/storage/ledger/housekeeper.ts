import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { LedgerTables } from './ledger-tables.ts'
import { isGenuine, sealed, sealTail } from './seal.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** A short-lived command is over before. */
const START_AFTER_MS = 1_000
/** Servers do not all start at once when the hour is over. */
const SPREAD_MS = 30_000

export interface HousekeeperOptions {
  readonly instance: string
  readonly auditKey: string
  readonly keepDays: number
  readonly clock: Clock
  readonly log: Log
  /** Seals the chain of this instance where its hour is over; never rejects. */
  readonly sealOwn: () => Promise<void>
}

/** What is done in the background, soon after the start and then every hour: sealing, also for the dead, and expiry. */
export class Housekeeper {
  readonly #tables: LedgerTables
  readonly #options: HousekeeperOptions
  /** Chains of the dead that are known to be sealed to their end. */
  readonly #done = new Set<string>()
  #callOff: () => void = () => {}
  #closed = false
  #round: Promise<void> = Promise.resolve()

  constructor(tables: LedgerTables, options: HousekeeperOptions) {
    this.#tables = tables
    this.#options = options
    this.#schedule(START_AFTER_MS)
  }

  /** Settles when the step that is under way is over. */
  async close(): Promise<void> {
    this.#closed = true
    this.#callOff()
    await this.#round
  }

  #schedule(ms: number): void {
    if (this.#closed) return
    this.#callOff = this.#options.clock.after(ms, () => {
      this.#round = this.#work().then(() => {
        const now = this.#options.clock.wall()
        this.#schedule(HOUR_MS - (now % HOUR_MS) + Math.random() * SPREAD_MS)
      })
    })
  }

  async #work(): Promise<void> {
    const { auditKey, keepDays, clock, log, sealOwn } = this.#options
    if (!this.#closed) await sealOwn()
    await this.#attempt('The audit chains of servers that have ended could not be sealed', () => this.#sealDead())
    await this.#attempt('What is older than it is kept could not be removed', async () => {
      const gone = await expire(this.#tables, auditKey, keepDays, clock.wall(), () => !this.#closed)
      if (gone.audit + gone.runs > 0) writeLog(log, 'info', gone, 'Removed what is older than it is kept')
    })
  }

  async #sealDead(): Promise<void> {
    const { instance, auditKey, clock, log } = this.#options
    for (const { chain, alive } of await this.#tables.chains()) {
      if (this.#closed) return
      if (alive || chain === instance || this.#done.has(chain)) continue
      const broken = await sealTail(this.#tables, auditKey, chain, () => clock.wall())
      this.#done.add(chain)
      if (broken !== undefined) {
        const message = `The audit chain '${chain}' does not hold from row ${broken} on: run 'toolyard audit verify'`
        writeLog(log, 'error', { chain, at: broken }, message)
      }
      await setImmediate()
    }
  }

  async #attempt(failure: string, step: () => Promise<void>): Promise<void> {
    if (this.#closed) return
    try {
      await step()
    } catch (err) {
      writeLog(this.#options.log, 'warn', { err }, `${failure}: it is tried again in an hour`)
    }
  }
}

/** How long figures are kept: minutes for the window of an hour, others a day longer than rows. */
export const figuresKeptMs = (keepDays: number) => ({
  minute: 2 * HOUR_MS,
  hour: (keepDays + 1) * DAY_MS,
  day: (keepDays + 1) * DAY_MS,
})

/** What has been removed. */
export interface Expired {
  readonly audit: number
  readonly runs: number
  readonly figures: number
}

/** Removes what is older than it is kept, one stretch at a time; `goOn` is asked before each. */
export async function expire(
  tables: LedgerTables,
  key: string,
  keepDays: number,
  now: number,
  goOn: () => boolean,
): Promise<Expired> {
  const before = now - keepDays * DAY_MS
  let audit = 0
  for (const seal of await tables.expired(before)) {
    if (!goOn()) break
    // One that somebody else made must not become ours: it stays for `verify` to find, with its rows.
    if (!isGenuine(key, seal)) continue
    audit += await tables.removeStretch(sealed(key, { ...seal, expiredAt: now }))
    await setImmediate()
  }
  const keptMs = figuresKeptMs(keepDays)
  let figures = 0
  for (const width of ['minute', 'hour', 'day'] as const) {
    if (goOn()) figures += await tables.removeCells(width, now - keptMs[width])
    await setImmediate()
  }
  const runs = goOn() ? await tables.removeRuns(before) : 0
  return { audit, runs, figures }
}
