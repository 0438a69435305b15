import { randomUUID } from 'node:crypto'
import { Installation } from '../../src/app/installation.ts'
import type { RunEvent, RunRequest } from '../../src/chat/run.ts'
import { silentLog, tool } from '../../src/index.ts'
import { scripted } from '../../src/testing/stand-ins.ts'
import { temporaryFolder } from '../storage/temporary-folder.ts'

export interface DurableOptions {
  /** Of an empty PostgreSQL database; absent: SQLite. */
  readonly url?: string
  readonly turns: number
  readonly warmRuns: number
  readonly runs: number
}

export interface DurableResult {
  /** Transactions of a turn with calls, without the start and the end of the run. */
  readonly commits: number
  /** Of an ordinary run and a durable one. */
  readonly ordinary: Cost
  readonly durable: Cost
}

interface Cost {
  readonly cpuUs: number
  readonly latencyUs: number
}

const look = tool({ name: 'look', description: 'Looks.', input: { type: 'object' }, effect: 'read', execute: () => 1 })

/** Runs conversations on a store, ordinary and durable ones in turn. */
export async function durable({ url, turns, warmRuns, runs }: DurableOptions): Promise<DurableResult> {
  const { folder, remove } = await temporaryFolder()
  const env = { TOOLYARD_DATA: folder, ...(url !== undefined && { TOOLYARD_DATABASE_URL: url }) }
  const config = { tools: { enabled: true, registry: [] } }
  const installation = await Installation.open({ config, tools: [look], log: silentLog, env })
  const { durableRuns, storage } = installation
  let commits = 0
  const append = storage.durableRuns.append.bind(storage.durableRuns)
  storage.durableRuns.append = (...args) => {
    commits++
    return append(...args)
  }
  const run = async (start: (request: RunRequest) => AsyncGenerator<RunEvent>, count: number): Promise<Cost> => {
    const [before, started] = [process.cpuUsage(), performance.now()]
    for (let made = 0; made < count; made++) {
      const answers = Array.from({ length: turns }, (_, n) => ({ calls: [{ name: 'look', arguments: { n } }] }))
      const context = { tenant: 'local', caller: 'local', runId: randomUUID() }
      const messages = [{ role: 'user', content: 'Look' }] as const
      const model = scripted(...answers, 'Done.')
      for await (const _ of start({ model, messages, context, max_iterations: turns + 1 })) {
        // Only the time counts.
      }
    }
    const { user, system } = process.cpuUsage(before)
    return { cpuUs: (user + system) / count, latencyUs: ((performance.now() - started) * 1_000) / count }
  }
  const ordinarily = (request: RunRequest) => durableRuns.pausing(request)
  const durably = (request: RunRequest) => durableRuns.run(request)
  await run(ordinarily, warmRuns)
  await run(durably, warmRuns)
  const ordinary = await run(ordinarily, runs)
  commits = 0
  const stored = await run(durably, runs)
  await installation.close()
  remove()
  return { commits: commits / (runs * turns), ordinary, durable: stored }
}
