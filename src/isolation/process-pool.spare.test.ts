import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { never, task, until } from './fixtures/task.ts'
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
    const loaded: number[] = []
    const server = createServer((socket) => socket.on('data', (pid) => loaded.push(Number(pid)))).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const code = `import { connect } from 'node:net'
      const socket = connect(${(server.address() as AddressInfo).port}, '127.0.0.1').end(String(process.pid)).resume()
      await new Promise((resolve) => socket.on('close', resolve))
      export const pid = () => process.pid`
    const { pool, module } = setUp('loads.mjs', code)
    const first = (await pool.run(task('pid', {}, { module, network: true }), never())) as number
    await until(() => loaded.length === 2)
    process.kill(first, 'SIGKILL')
    await until(() => !pool.pids.includes(first))
    expect(await pool.run(task('pid', {}, { module, network: true }), never())).toBe(loaded[1])
    server.close()
  })

  it('is not restarted in a loop if it ends by itself', async () => {
    const code = `import { existsSync } from 'node:fs'
      setInterval(() => existsSync(new URL('./unfit', import.meta.url)) && process.exit(1), 10).unref()
      export const answer = () => process.pid`
    const { pool, module } = setUp('unfit.mjs', code)
    await pool.run(task('answer', {}, { module }), never())
    writeFileSync(join(folder, 'unfit'), '')
    const seen = new Set<number>()
    await until(() => {
      for (const pid of pool.pids) seen.add(pid)
      return pool.pids.length === 0
    })
    expect(seen.size).toBeLessThanOrEqual(3)
    rmSync(join(folder, 'unfit'))
    expect(await pool.run(task('answer', {}, { module }), never())).toBeTypeOf('number')
  })
})
