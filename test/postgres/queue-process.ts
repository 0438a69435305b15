import { setTimeout as sleep } from 'node:timers/promises'
import { silentLog } from '../../src/core/log.ts'
import { openPgBossQueue } from '../../src/storage/postgres/pg-boss-queue.ts'
import { openPostgresEngine } from '../../src/storage/postgres/postgres-engine.ts'

// A server as far as jobs go: it prints what it takes and what it ends. Jobs named "long…" never end.
const [url, instance] = process.argv.slice(2) as [string, string]
const engine = await openPostgresEngine({ url, folder: '', instance, keepDays: 7 }, { log: silentLog })
const queue = await openPgBossQueue(url, { store: engine.jobs, log: silentLog })
const print = (line: string): boolean => process.stdout.write(`${line}\n`)
const now = (): string => new Date().toISOString()

await queue.work(async (id) => {
  const job = await engine.jobs.take(id, now())
  print(job === undefined ? `passed ${id}` : `took ${id} ${job.attempts}`)
  if (job === undefined) return
  if (id.startsWith('long') && job.attempts === 1) await sleep(3_600_000)
  await engine.jobs.end(id, 'done', { success: true, result: instance, tool_name: 'echo', execution_time_ms: 1 }, now())
  print(`ended ${id}`)
})
print('ready')
process.on('SIGTERM', async () => {
  await queue.close(1_000)
  await engine.close()
  process.exit()
})
