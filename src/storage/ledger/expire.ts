import { setImmediate } from 'node:timers/promises'
import type { LedgerTables } from './ledger-tables.ts'
import { isGenuine, sealed } from './seal.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** How long figures are kept: minutes for the window of an hour, others a day longer than rows. */
export const figuresKeptMs = (keepDays: number) => ({
  minute: 2 * HOUR,
  hour: (keepDays + 1) * DAY,
  day: (keepDays + 1) * DAY,
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
  const before = now - keepDays * DAY
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
