import { randomUUID } from 'node:crypto'
import { Installation } from '../../src/app/installation.ts'
import type { RunEvent, RunRequest } from '../../src/chat/run.ts'
import { silentLog, tool } from '../../src/index.ts'
import type { Storage } from '../../src/storage/sql/engine.ts'
import { scripted } from '../../src/testing/stand-ins.ts'
import { temporaryFolder } from '../storage/temporary-folder.ts'

export interface DurableOptions {
  /** Of an empty PostgreSQL database; absent: SQLite. */
  readonly url?: string
  readonly turns: number
  readonly warmRuns: number
  readonly runs: number
}

/** Of runs whose calls read, and of runs whose calls write. */
export interface DurableResult {
  readonly reads: Costs
  readonly writes: Costs
}

interface Costs {
  /** Transactions of a turn with calls, without the start and the end of the run. */
  readonly commits: number
  readonly ordinary: Cost
  readonly durable: Cost
}

interface Cost {
  readonly cpuUs: number
  readonly latencyUs: number
}

const looking = { description: 'Looks.', input: { type: 'object' }, execute: () => 1 } as const
const look = tool({ name: 'look', effect: 'read', ...looking })
const write = tool({ name: 'write', effect: 'write', ...looking })

/** Runs conversations on a store, ordinary and durable ones in turn. */
export async function durable({ url, turns, warmRuns, runs }: DurableOptions): Promise<DurableResult> {
  const { folder, remove } = await temporaryFolder()
  const env = { TOOLYARD_DATA: folder, ...(url !== undefined && { TOOLYARD_DATABASE_URL: url }) }
  const config = { tools: { enabled: true, registry: [] } }
  const installation = await Installation.open({ config, tools: [look, write], log: silentLog, env })
  const { durableRuns, storage } = installation
  const commits = countCommits(storage)
  const run = async (start: Start, name: string, count: number): Promise<Cost> => {
    const [before, started] = [process.cpuUsage(), performance.now()]
    for (let made = 0; made < count; made++) {
      const answers = Array.from({ length: turns }, (_, n) => ({ calls: [{ name, arguments: { n } }] }))
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
  const costs = async (name: string): Promise<Costs> => {
    const ordinarily: Start = (request) => durableRuns.pausing(request)
    const durably: Start = (request) => durableRuns.run(request)
    await run(ordinarily, name, warmRuns)
    await run(durably, name, warmRuns)
    const ordinary = await run(ordinarily, name, runs)
    const before = commits()
    const durable = await run(durably, name, runs)
    return { commits: (commits() - before) / (runs * turns), ordinary, durable }
  }
  const result = { reads: await costs('look'), writes: await costs('write') }
  await installation.close()
  remove()
  return result
}

type Start = (request: RunRequest) => AsyncGenerator<RunEvent>

/** Counts the transactions of turns: each of these methods is one. */
function countCommits({ durableRuns, once }: Storage): () => number {
  let made = 0
  const counted = <Store extends object>(store: Store, names: readonly (keyof Store)[]) => {
    for (const name of names) {
      const method = (store[name] as (...args: unknown[]) => unknown).bind(store)
      store[name] = ((...args: unknown[]) => {
        made++
        return method(...args)
      }) as Store[typeof name]
    }
  }
  counted(durableRuns, ['begin', 'append'])
  counted(once, ['claim', 'settle', 'release'])
  return () => made
}
