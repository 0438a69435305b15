/**
 * Loads a real server through all its routes, and looks whether its memory grows. With --budgets: makes paid calls and runs on
 * servers that share a store, and looks whether budgets and audit log agree to the millionth.
 */
import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Config } from '../../src/index.ts'
import { count, figure } from '../figures.ts'
import { startToolyard } from '../http/start-toolyard.ts'
import { openDatabases } from '../storage/databases.ts'
import { temporaryFolder } from '../storage/temporary-folder.ts'
import { table } from '../table.ts'
import { disagreements, soakBudgets } from './budgets.ts'
import { Client } from './client.ts'
import { slope } from './slope.ts'
import { VISITS, type Visit } from './visits.ts'

const SHIPPED = new URL('../../toolyard.config.json', import.meta.url)
const MINUTE = 60_000
const SAMPLE_MS = 15_000
/** Caches fill and code is compiled at first: that is no leak. */
const WARM_MINUTES = 2
/** Growth of the heap after collection that is too much, in MB a minute. */
const MOST_GROWTH = 1

interface Sample {
  readonly minute: number
  readonly requests: number
  readonly heapMb: number
  readonly residentMb: number
}

const mb = (bytes: number) => bytes / 2 ** 20

async function soak(minutes: number): Promise<boolean> {
  const shipped = JSON.parse(await readFile(SHIPPED, 'utf8')) as Config
  const toolyard = await startToolyard({ ...shipped, limits: { calls_per_minute: 10_000_000 } })
  const { server, key } = toolyard
  const client = new Client(server.url, key)
  const over = new AbortController()
  const fail = (error: unknown) => over.abort(error)
  const done = new Map<Visit, number>(VISITS.map((visit) => [visit, 0]))
  const visiting = VISITS.flatMap((visit) =>
    Array.from({ length: visit.clients }, async () => {
      while (!over.signal.aborted) {
        await visit.go(client)
        done.set(visit, (done.get(visit) ?? 0) + 1)
        if (visit.pauseMs > 0) await pause(visit.pauseMs)
      }
    }),
  ).map((each) => each.catch(fail))
  try {
    const samples: Sample[] = []
    const started = performance.now()
    while (performance.now() - started < minutes * MINUTE) {
      await pause(SAMPLE_MS, undefined, { signal: over.signal })
      const { heapBytes, residentBytes } = await server.usage({ collected: true })
      const minute = (performance.now() - started) / MINUTE
      const requests = [...done.values()].reduce((sum, each) => sum + each, 0)
      samples.push({ minute, requests, heapMb: mb(heapBytes), residentMb: mb(residentBytes) })
      process.stderr.write(`${minute.toFixed(1)} of ${minutes} minutes: heap ${figure(mb(heapBytes))} MB\n`)
    }
    return report(samples, done, Math.min(WARM_MINUTES, minutes / 3))
  } catch (error) {
    // Where the server itself has ended, this throws what it said last.
    await server.usage()
    throw over.signal.aborted ? over.signal.reason : error
  } finally {
    over.abort()
    await Promise.all(visiting)
    await toolyard.close()
  }
}

/** Gives whether the memory is flat. */
function report(samples: readonly Sample[], done: ReadonlyMap<Visit, number>, warmMinutes: number): boolean {
  const rows = samples
    .filter((_, i) => i % 4 === 3 || i === samples.length - 1)
    .map((each) => [each.minute.toFixed(1), count(each.requests), figure(each.heapMb), figure(each.residentMb)])
  console.log(`${table(['minute', 'visits so far', 'heap after collection, MB', 'resident, MB'], rows)}\n`)
  console.log(`${[...done].map(([{ name }, visits]) => `${name} ${count(visits)}`).join(', ')}\n`)
  const warm = samples.filter(({ minute }) => minute > warmMinutes)
  const growth = (key: 'heapMb' | 'residentMb') => slope(warm.map((each) => ({ x: each.minute, y: each[key] })))
  const heap = growth('heapMb')
  console.log(`after ${warmMinutes.toFixed(1)} minutes of warming up, over ${warm.length} samples:`)
  console.log(`  heap      ${heap.toFixed(3)} MB a minute (must be below ${MOST_GROWTH})`)
  console.log(`  resident  ${growth('residentMb').toFixed(3)} MB a minute`)
  return heap < MOST_GROWTH
}

async function soakAllBudgets(minutes: number): Promise<boolean> {
  const databases = await openDatabases()
  try {
    let isExact = true
    for (const store of ['SQLite', 'PostgreSQL']) {
      const { folder, remove } = await temporaryFolder()
      const until = performance.now() + (minutes / 2) * MINUTE
      const env = {
        TOOLYARD_DATA: folder,
        ...(store === 'SQLite' ? {} : { TOOLYARD_DATABASE_URL: await databases.next() }),
      }
      const soaked = await soakBudgets(env, () => performance.now() >= until)
      const { calls, refused, audit, models } = soaked
      const wrong = disagreements(soaked)
      console.log(`${store}: ${count(calls)} calls, ${count(refused)} of them refused, cost ${(audit + models) / 1e6}.`)
      console.log(wrong.length === 0 ? '  Everything agrees.' : wrong.map((each) => `  ${each}`).join('\n'))
      isExact &&= wrong.length === 0
      remove()
    }
    return isExact
  } finally {
    await databases.close()
  }
}

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, budgets: { type: 'boolean', default: false } },
})
const minutes = Number(values.minutes)
if (!(minutes >= 1)) {
  console.error(`--minutes takes a number from 1 on, not '${values.minutes}'.`)
  process.exit(2)
}
const flat = await (values.budgets ? soakAllBudgets : soak)(minutes).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  return false
})
process.exit(flat ? 0 : 1)
