import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { LedgerTables } from './ledger-tables.ts'
import { isGenuine, sealed } from './seal.ts'
import { type SealRegister, sealTail } from './seal-register.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Short-lived commands end before this. */
const START_AFTER_MS = 1_000
/** Keeps servers from all starting at the full hour. */
const SPREAD_MS = 30_000

interface HousekeeperOptions extends Retention {
  readonly instance: string
  readonly auditKey: string
  readonly clock: Clock
  readonly log: Log
  /** Seals the chain of this instance if its hour is over; never rejects. */
  readonly sealOwn: () => Promise<void>
  readonly register: SealRegister
}

/** Background work, soon after the start and then every hour: seals chains, also those of dead servers, and expires. */
export class Housekeeper {
  readonly #tables: LedgerTables
  readonly #options: HousekeeperOptions
  /** Chains of dead servers that are sealed to their end. */
  readonly #done = new Set<string>()
  #cancel: () => void = () => {}
  #closed = false
  #round: Promise<void> = Promise.resolve()
  /** Whether no seal is missing; checked once in a round, if at all. */
  #complete: Promise<boolean> | undefined
  #isFirst = true

  constructor(tables: LedgerTables, options: HousekeeperOptions) {
    this.#tables = tables
    this.#options = options
    this.#schedule(START_AFTER_MS)
  }

  /** Waits for the current step. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancel()
    await this.#round
  }

  #schedule(ms: number): void {
    if (this.#closed) return
    this.#cancel = this.#options.clock.after(ms, () => {
      this.#round = this.#work().then(() => {
        const now = this.#options.clock.wall()
        this.#schedule(HOUR_MS - (now % HOUR_MS) + Math.random() * SPREAD_MS)
      })
    })
  }

  async #work(): Promise<void> {
    const { clock, log, sealOwn } = this.#options
    if (!this.#closed) await sealOwn()
    await this.#attempt('The audit chains of servers that have ended could not be sealed', async () => {
      this.#complete = undefined
      // Servers check it at their start, so that the log tells soon.
      if (this.#isFirst) await this.#isComplete()
      this.#isFirst = false
      await this.#sealDead()
    })
    await this.#attempt('Expired records could not be removed', async () => {
      const gone = await expire(this.#tables, this.#options, clock.wall(), () => !this.#closed)
      if (gone.audit + gone.runs > 0) writeLog(log, 'info', gone, 'Removed expired records')
    })
  }

  #isComplete(): Promise<boolean> {
    const { register, log } = this.#options
    this.#complete ??= register
      .isComplete(() => !this.#closed)
      .then((isComplete) => {
        const message = "Seals of the audit log are missing, or were changed: run 'toolyard audit verify'"
        if (!isComplete && !this.#closed) writeLog(log, 'error', {}, message)
        return isComplete
      })
    return this.#complete
  }

  async #sealDead(): Promise<void> {
    const { instance, register, clock, log } = this.#options
    for (const { chain, alive } of await this.#tables.chains()) {
      if (this.#closed) return
      if (alive || chain === instance || this.#done.has(chain)) continue
      const isComplete = () => this.#isComplete()
      const broken = await sealTail(this.#tables, register, chain, () => clock.wall(), isComplete)
      this.#done.add(chain)
      if (broken !== undefined) {
        const message = `The audit chain '${chain}' is not sealed from row ${broken} on: run 'toolyard audit verify'`
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
      writeLog(this.#options.log, 'warn', { err }, `${failure}. Next attempt in an hour.`)
    }
  }
}

/** How long records are stored, in days. */
export interface Retention {
  readonly keepDays: number
  /** Of audit rows, if they are stored longer than other records. */
  readonly auditDays?: number
  /** The longest window of an objective. */
  readonly objectiveDays?: number
}

/** The longest window of an alert. */
const ALERT_DAYS = 3

/**
 * How long figures are stored: minutes for the window of an hour, others a day longer than other records. Those of calls
 * are stored for the windows of objectives, too.
 */
export const figuresKeptMs = ({ keepDays, objectiveDays = 0 }: Retention) => ({
  minute: 2 * HOUR_MS,
  hour: (Math.max(keepDays, Math.min(objectiveDays, ALERT_DAYS)) + 1) * DAY_MS,
  day: (Math.max(keepDays, objectiveDays) + 1) * DAY_MS,
})

/** How many records were removed. */
export interface Expired {
  readonly audit: number
  readonly runs: number
  readonly figures: number
}

/** Removes expired records, one stretch at a time, as long as `goOn` returns true. */
export async function expire(
  tables: LedgerTables,
  { auditKey: key, ...retention }: Retention & { readonly auditKey: string },
  now: number,
  goOn: () => boolean,
): Promise<Expired> {
  const { keepDays, auditDays = keepDays } = retention
  let audit = 0
  for (const seal of await tables.expired(now - Math.max(auditDays, keepDays) * DAY_MS)) {
    if (!goOn()) break
    // A forged seal stays, with its rows, for `verify` to find.
    if (!isGenuine(key, seal)) continue
    audit += await tables.removeStretch(sealed(key, { ...seal, expiredAt: now }), seal.mac)
    await setImmediate()
  }
  const before = now - keepDays * DAY_MS
  let figures = 0
  for (const kinds of [['call'], ['run', 'set']] as const) {
    const keptMs = figuresKeptMs(kinds[0] === 'call' ? retention : { keepDays })
    for (const width of ['minute', 'hour', 'day'] as const) {
      if (goOn()) figures += await tables.removeCells(width, now - keptMs[width], kinds)
      await setImmediate()
    }
  }
  const runs = goOn() ? await tables.removeRuns(before) : 0
  return { audit, runs, figures }
}
