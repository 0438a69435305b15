import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../../src/core/log.ts'
import { openPgBossQueue } from '../../src/storage/postgres/pg-boss-queue.ts'
import { captureLog } from '../../src/testing/stand-ins.ts'
import { FULL } from '../setup/full.ts'
import { ask, type Databases, startDatabases } from './databases.ts'
import { startProxy } from './proxy.ts'

let databases: Databases
beforeAll(async () => {
  databases = await startDatabases()
})
afterAll(() => databases.stop())

const PROGRAM = fileURLToPath(new URL('queue-process.ts', import.meta.url))

const until = (condition: () => unknown) => vi.waitFor(condition, { interval: 50 })

const job = (id: string) => ({
  id,
  tenant: 'acme',
  caller: null,
  tool: 'echo',
  params: {},
  timeout_ms: 1_000,
  created_at: new Date().toISOString(),
})

async function startServer(url: string, instance: string): Promise<{ child: ChildProcess; lines: string[] }> {
  const child = spawn(process.execPath, [PROGRAM, url, instance], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => lines.push(...text.trim().split('\n')))
  await until(() => expect(lines).toContain('ready'))
  return { child, lines }
}

test.runIf(FULL)(
  'a job goes to one of two servers, and when that is killed to the other',
  async () => {
    const url = await databases.create()
    const engine = await databases.open({ url })
    const [one, two] = await Promise.all([startServer(url, 'one'), startServer(url, 'two')])
    const queue = await openPgBossQueue(url, { store: engine.jobs, log: silentLog })
    onTestFinished(() => queue.close(1_000))
    await engine.jobs.create(job('long'))
    await queue.add('long', 'acme')
    await until(() => expect([...one.lines, ...two.lines]).toContain('took long 1'))
    const [working, other] = one.lines.includes('took long 1') ? [one, two] : [two, one]
    working.child.kill('SIGKILL')
    await once(working.child, 'exit')
    await until(() => expect(other.lines).toContain('ended long'))
    expect(other.lines.filter((line) => line.endsWith('long 2'))).toEqual(['took long 2'])
    expect(await engine.jobs.get('acme', 'long')).toMatchObject({ state: 'done', attempts: 2 })
  },
  120_000,
)

test('each of many jobs runs once, also those that were added twice, or never', async () => {
  const url = await databases.create()
  const engine = await databases.open({ url })
  const queue = await openPgBossQueue(url, { store: engine.jobs, log: silentLog })
  onTestFinished(() => queue.close(1_000))
  const ids = Array.from({ length: 40 }, (_, n) => `job ${n}`)
  for (const [n, id] of ids.entries()) {
    await engine.jobs.create(job(id))
    if (n < 30) await queue.add(id, 'acme')
    if (n < 10) await queue.add(id, 'acme')
  }
  const [one, two] = await Promise.all([startServer(url, 'one'), startServer(url, 'two')])
  const took = () => [...one.lines, ...two.lines].filter((line) => line.startsWith('took')).sort()
  await until(() => expect(took()).toEqual(ids.map((id) => `took ${id} 1`).sort()))
})

test('a server that closes lets its jobs end, and takes no more', async () => {
  const url = await databases.create()
  const engine = await databases.open({ url })
  const queue = await openPgBossQueue(url, { store: engine.jobs, log: silentLog, concurrency: 1 })
  const ran: string[] = []
  let finish = (): void => {}
  await queue.work(async (id) => {
    ran.push(`${id} began`)
    await new Promise<void>((resolve) => {
      finish = resolve
    })
    ran.push(`${id} ended`)
  })
  await engine.jobs.create(job('a'))
  await queue.add('a', 'acme')
  await until(() => expect(ran).toEqual(['a began']))
  await engine.jobs.create(job('b'))
  await queue.add('b', 'acme')
  const closed = queue.close(20_000)
  setTimeout(() => finish(), 200)
  await closed
  expect(ran).toEqual(['a began', 'a ended'])
  await expect(queue.add('c', 'acme')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
})

test.runIf(FULL)('a tenant has half of the places of a server', async () => {
  const url = await databases.create()
  const engine = await databases.open({ url })
  const queue = await openPgBossQueue(url, { store: engine.jobs, log: silentLog, concurrency: 4 })
  const ends = Promise.withResolvers<void>()
  onTestFinished(async () => {
    ends.resolve()
    await queue.close(1_000)
  })
  const ran: string[] = []
  await queue.work(async (id) => {
    ran.push(id)
    if (id.startsWith('greedy')) await ends.promise
  })
  for (let n = 0; n < 6; n++) await queue.add(`greedy ${n}`, 'greedy')
  await until(() => expect(ran).toHaveLength(2))
  for (let n = 0; n < 3; n++) await queue.add(`modest ${n}`, 'modest')
  await until(() => expect(ran).toHaveLength(5))
  expect(ran.slice(2).sort()).toEqual(['modest 0', 'modest 1', 'modest 2'])
})

test.runIf(FULL)('a job that cannot be worked on is tried again', async () => {
  const url = await databases.create()
  const engine = await databases.open({ url })
  const log = captureLog()
  const queue = await openPgBossQueue(url, { store: engine.jobs, log })
  onTestFinished(() => queue.close(1_000))
  let tries = 0
  await queue.work(async (id) => {
    if (++tries === 1) throw new Error('The store is down')
    await engine.jobs.take(id, new Date().toISOString())
  })
  await engine.jobs.create(job('a'))
  await queue.add('a', 'acme')
  await until(async () => expect(await engine.jobs.get('acme', 'a')).toMatchObject({ state: 'running' }))
  expect(tries).toBe(2)
  expect(log.at('error')).toMatchObject([{ job: 'a' }])
})

test.runIf(FULL)(
  'a database that goes away is said without its address, and jobs are handed out when it is back',
  async () => {
    const url = await databases.create()
    const engine = await databases.open({ url })
    const proxy = await startProxy(url)
    onTestFinished(() => proxy.stop())
    const log = captureLog()
    const queue = await openPgBossQueue(proxy.url, { store: engine.jobs, log })
    onTestFinished(() => queue.close(1_000))
    const ran: string[] = []
    await queue.work(async (id) => {
      ran.push(id)
      await engine.jobs.take(id, new Date().toISOString())
    })
    proxy.cut()
    await expect(queue.add('lost', 'acme')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    await until(() => expect(log.lines.length).toBeGreaterThan(0))
    await engine.jobs.create(job('left'))
    proxy.restore()
    await until(() => expect(ran).toEqual(['left']))
    expect(JSON.stringify(log.lines)).not.toMatch(/127\.0\.0\.1|:toolyard@/)
  },
)

test('a queue on a database that cannot be reached does not open', async () => {
  const store = { waiting: async () => [] }
  const opening = openPgBossQueue('postgres://x:y@127.0.0.1:1/x', { store, log: silentLog })
  await expect(opening).rejects.toThrow('nothing listens at the address in TOOLYARD_DATABASE_URL')
})

test('a user who may not create a schema can use one that was made for him', async () => {
  const url = await databases.create()
  const worker = `worker_${randomUUID().replaceAll('-', '')}`
  await ask(url, `CREATE ROLE ${worker} LOGIN PASSWORD 'pass'`)
  await ask(url, `CREATE SCHEMA toolyard_jobs AUTHORIZATION ${worker}`)
  const theirs = new URL(url)
  theirs.username = worker
  theirs.password = 'pass'
  const queue = await openPgBossQueue(theirs.href, { store: { waiting: async () => [] }, log: silentLog })
  await queue.add('a', 'acme')
  await queue.close(1_000)
})

test('its tables are its own', async () => {
  const url = await databases.create()
  const engine = await databases.open({ url })
  const queue = await openPgBossQueue(url, { store: engine.jobs, log: silentLog })
  await queue.close(1_000)
  const schemas = await ask(
    url,
    "SELECT DISTINCT schemaname FROM pg_tables WHERE schemaname LIKE 'toolyard%' ORDER BY 1",
  )
  expect(schemas).toEqual([{ schemaname: 'toolyard' }, { schemaname: 'toolyard_jobs' }])
})
