import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { deadline, isAlive, never, task, until } from './fixtures/task.ts'
import { ProcessPool } from './process-pool.ts'

const folder = mkdtempSync(join(tmpdir(), 'isolated-'))
const pools: ProcessPool[] = []

afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.close()
})
afterAll(() => rmSync(folder, { recursive: true }))

function setUp(name: string, code: string): { pool: ProcessPool; module: string } {
  writeFileSync(join(folder, name), code)
  const pool = new ProcessPool()
  pools.push(pool)
  return { pool, module: pathToFileURL(join(folder, name)).href }
}

describe('the spare process', () => {
  it('has loaded the module of the last call before the next one', async () => {
    const code = `const at = performance.now()
      export const answer = () => ({ pid: process.pid, age: performance.now() - at })
      export const loop = () => { for (;;); }`
    const { pool, module } = setUp('age.mjs', code)
    const first = (await pool.run(task('answer', {}, { module }), never())) as { pid: number }
    await expect(pool.run(task('loop', {}, { module }), deadline(50))).rejects.toThrow('late')
    await until(() => !isAlive(first.pid) && pool.pids.length > 0)
    await sleep(1500)
    const second = (await pool.run(task('answer', {}, { module }), never())) as { pid: number; age: number }
    expect(second.pid).not.toBe(first.pid)
    expect(second.age).toBeGreaterThan(500)
  })

  it('is not restarted in a loop if it ends by itself', async () => {
    const code = `setTimeout(() => process.exit(1), 100)
      export const answer = () => process.pid`
    const { pool, module } = setUp('unfit.mjs', code)
    await pool.run(task('answer', {}, { module }), never())
    const seen = new Set<number>()
    for (let n = 0; n < 150; n++) {
      for (const pid of pool.pids) seen.add(pid)
      await sleep(10)
    }
    expect(seen.size).toBeLessThanOrEqual(3)
    expect(await pool.run(task('answer', {}, { module }), deadline(5000))).toBeTypeOf('number')
  })
})
