import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { MetricWindow } from '../../src/core/storage/ledger.ts'
import { silentLog } from '../../src/index.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { bytesOf } from '../storage/bytes-of.ts'
import { feedAWeek } from '../storage/feed-a-week.ts'
import { type LoopPauses, loopPauses } from '../storage/loop-pauses.ts'
import { temporaryFolder } from '../storage/temporary-folder.ts'

export interface MetricsOptions {
  readonly executions: number
  readonly times: number
}

export interface MetricsRow {
  readonly window: MetricWindow
  /** Of one tenant, or of the whole installation. */
  readonly whose: 'tenant' | 'installation'
  /** How many executions the answer is about. */
  readonly executions: number
  readonly byTool: readonly AnswerTime[]
  readonly byModel: readonly AnswerTime[]
}

export interface AnswerTime {
  readonly ms: number
  /** Of the whole process. */
  readonly cpuMs: number
}

export interface MetricsResult {
  readonly feedSeconds: number
  readonly fileBytes: number
  readonly rows: readonly MetricsRow[]
  /** The pauses of the main loop while questions about 7 days are answered, and for as long with none. */
  readonly asked: LoopPauses
  readonly idle: LoopPauses
}

/** What a store does after it was opened is over by then. */
const SETTLING_MS = 5_000

/** Feeds a store with a week of executions, opens it as a server does, and asks for figures. */
export async function metrics({ executions, times }: MetricsOptions): Promise<MetricsResult> {
  const { folder, remove } = await temporaryFolder()
  const started = performance.now()
  await feedAWeek(folder, executions)
  const feedSeconds = (performance.now() - started) / 1000
  const { ledger, close } = await openStorage({ folder, instance: randomUUID(), keepDays: 7 }, { log: silentLog })
  await pause(SETTLING_MS)
  const rows: MetricsRow[] = []
  for (const window of ['1h', '24h', '7d'] as const) {
    for (const whose of ['tenant', 'installation'] as const) {
      const query = { tenant: whose === 'tenant' ? 'tenant_7' : undefined, window }
      const byTool = await timed(times, () => ledger.executions(query))
      const byModel = await timed(times, () => ledger.models(query))
      rows.push({ window, whose, executions: (await ledger.executions(query)).total, byTool, byModel })
    }
  }
  const week = { tenant: undefined, window: '7d' } as const
  const { total } = await ledger.executions(week)
  // What began the week may have left the window by now.
  if (total < executions * 0.99) throw new Error(`Of ${executions} executions ${total} are in the figures.`)
  const first = performance.now()
  const asked = await loopPauses(async () => {
    for (let i = 0; i < times; i++) await Promise.all([ledger.executions(week), ledger.models(week)])
  })
  const took = performance.now() - first
  const idle = await loopPauses(async () => {
    await pause(took)
  })
  await close()
  const fileBytes = await bytesOf({ folder })
  remove()
  return { feedSeconds, fileBytes, rows, asked, idle }
}

/** The first, which finds nothing in memory, counts as well. */
async function timed(times: number, ask: () => Promise<unknown>): Promise<AnswerTime[]> {
  const found: AnswerTime[] = []
  for (let i = 0; i < times; i++) {
    const cpu = process.cpuUsage()
    const started = performance.now()
    await ask()
    const ms = performance.now() - started
    const { user, system } = process.cpuUsage(cpu)
    found.push({ ms, cpuMs: (user + system) / 1000 })
  }
  return found
}
