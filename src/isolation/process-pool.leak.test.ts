import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { isAlive, task, until } from './fixtures/task.ts'
import { ProcessPool } from './process-pool.ts'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

function usedHeap(): number {
  collect()
  return process.memoryUsage().heapUsed
}

/** What keeps the test's own process alive, apart from timers, which come and go with the test runner. */
const resources = () =>
  process
    .getActiveResourcesInfo()
    .filter((name) => !/Timeout|Immediate/.test(name))
    .toSorted()

/** `npm run test:full` makes four times as many calls. */
const TIMES = process.env.TOOLYARD_TEST_FULL === '1' ? 4 : 1

const pool = new ProcessPool({ size: 4 })
const pids = new Set<number>()

async function call(name: string, params: unknown, tenant: string, ms: number) {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(new Error('late')), ms)
  const sent = task(name, params, { tenant })
  try {
    return { outcome: await pool.run(sent, controller.signal) }
  } catch (error) {
    return { outcome: (error as Error).message, killed: sent.started }
  } finally {
    clearTimeout(timer)
    for (const pid of pool.pids) pids.add(pid)
  }
}

/** Calls that never end, until `count` of them have been killed; those whose deadline passed while they waited do not count. */
async function kill(count: number, name: string): Promise<void> {
  for (let killed = 0; killed < count; ) {
    const result = await call(name, {}, name, 50)
    expect(result.outcome).toBe('late')
    if (result.killed) killed++
  }
}

async function echo(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    expect(await call('echo', n, 'ordinary', 60_000)).toEqual({ outcome: { echo: n } })
  }
}

it(`${20 * TIMES} killed calls (deadline 50 ms) and ${1_000 * TIMES} ordinary ones leave no process, handle or memory behind`, async () => {
  const before = resources()
  await Promise.all([kill(TIMES, 'loop'), kill(TIMES, 'hang'), echo(100 * TIMES)])
  const heap = usedHeap()
  await Promise.all([kill(9 * TIMES, 'loop'), kill(9 * TIMES, 'hang'), echo(900 * TIMES)])
  expect(usedHeap() - heap).toBeLessThan(4 * 1024 * 1024)
  expect(pool.pids.length).toBeLessThanOrEqual(5)
  await pool.close()
  await until(() => ![...pids].some(isAlive))
  expect(pids.size).toBeGreaterThan(20 * TIMES)
  await until(() => resources().length <= before.length)
  expect(resources()).toEqual(before)
})
