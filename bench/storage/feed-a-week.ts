import { randomUUID } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { silentLog } from '../../src/index.ts'
import { figuresKeptMs } from '../../src/storage/ledger/housekeeper.ts'
import { LiveFigures } from '../../src/storage/ledger/live-figures.ts'
import { openSqliteEngine } from '../../src/storage/sqlite/sqlite-engine.ts'
import { hostStorage } from '../../src/storage/worker/host-storage.ts'
import { ManualClock } from '../../src/testing/stand-ins.ts'
import { CALLS_OF_RUN, chainRowOf, random, runOf } from './executions.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const WEEK = 7 * 24 * HOUR
const KEEP_DAYS = 7
/** As long as minutes are kept. */
const LAST_HOURS = 2 * HOUR

const next = random(1)

/**
 * Fills a store with the executions of a week that ends now. The last two hours go through the ledger minute by minute,
 * on a clock of their own, with their rows, runs, minutes and hours. Of the hours before only the figures are written,
 * by what counts them in the ledger: no question about figures reads anything else, and of minutes so long ago nothing
 * is left.
 */
export async function feedAWeek(folder: string, executions: number): Promise<void> {
  const end = Math.floor(Date.now() / MINUTE) * MINUTE
  const begin = end - WEEK
  const runsUntil = (time: number) => Math.ceil(((executions / CALLS_OF_RUN) * (time - begin)) / WEEK)
  await feedFigures(folder, begin, end - LAST_HOURS, runsUntil)
  await feedLedger(folder, end - LAST_HOURS, end, runsUntil)
}

async function feedFigures(
  folder: string,
  begin: number,
  end: number,
  runsUntil: (time: number) => number,
): Promise<void> {
  const keepMs = figuresKeptMs({ keepDays: KEEP_DAYS })
  const figures = new LiveFigures({ log: silentLog, keepMs })
  const options = { folder, instance: randomUUID(), keepDays: KEEP_DAYS }
  const engine = await openSqliteEngine(options, { log: silentLog })
  let fed = 0
  for (let hour = begin; hour < end; hour += HOUR) {
    const until = Math.min(hour + HOUR, end)
    // So late that its minutes are not kept any more.
    const now = until + keepMs.minute + 1
    for (const runs = runsUntil(until); fed < runs; fed++) {
      const { run, calls } = runOf(fed, hour + next() * (until - hour), next)
      figures.calls(calls.map(chainRowOf), now)
      figures.run(run, now)
    }
    const { cells, written } = figures.due(now, 'all')
    await engine.tables.write({ rows: [], runs: [], cells })
    written()
  }
  await engine.close()
}

async function feedLedger(
  folder: string,
  begin: number,
  end: number,
  runsUntil: (time: number) => number,
): Promise<void> {
  const clock = new ManualClock(begin)
  const options = { folder, instance: randomUUID(), keepDays: KEEP_DAYS }
  const { ledger, close } = await hostStorage(options, { log: silentLog, clock })
  let fed = runsUntil(begin)
  for (let minute = begin; minute < end; minute += MINUTE) {
    const made = []
    for (const runs = runsUntil(minute + MINUTE); fed < runs; fed++)
      made.push(runOf(fed, minute + next() * MINUTE, next))
    clock.advance(MINUTE)
    await ledger.append(
      made.flatMap(({ calls }) => calls),
      made.map(({ run }) => run),
    )
    await turn()
  }
  await close()
}
