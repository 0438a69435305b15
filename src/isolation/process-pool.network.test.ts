import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { silentLog } from '../core/log.ts'
import { hostileHandlers, never, task } from './fixtures/task.ts'
import { limitsNetwork } from './launch.ts'
import { ProcessPool } from './process-pool.ts'

const pools: ProcessPool[] = []
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.close()
})

function open(...options: ConstructorParameters<typeof ProcessPool>): ProcessPool {
  const pool = new ProcessPool(...options)
  pools.push(pool)
  return pool
}

async function listen(): Promise<number> {
  const server = createServer((socket) =>
    socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi'),
  )
  pools.push({ close: async () => void server.close() } as ProcessPool)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const NO_NETWORK =
  'This handler has no network access: write "network": true in the implementation of its tool, or pass { network: true } to isolated()'
const WAYS = ['connect', 'name', 'fetch', 'listen', 'unix', 'datagram', 'lookup']

describe.runIf(limitsNetwork())('a handler without network', () => {
  it.each(WAYS)('is refused, and told what to write (%s)', async (way) => {
    const port = await listen()
    const call = open().run(task('dial', { way, port }, { module: hostileHandlers }), never())
    await expect(call).rejects.toMatchObject({ message: NO_NETWORK, code: 'ERR_ACCESS_DENIED' })
  })

  it('fails the same way if it connects later', async () => {
    const port = await listen()
    const call = open().run(task('dialsLater', { port }, { module: hostileHandlers }), never())
    await expect(call).rejects.toMatchObject({ message: NO_NETWORK })
  })

  it('keeps the error of a refused file', async () => {
    const call = open().run(task('reads', { path: '/etc/hostname' }), never())
    await expect(call).rejects.toMatchObject({ message: expect.stringContaining('--allow-fs-read') })
  })

  it('never shares a process with one that has it', async () => {
    const pool = open()
    const pid = (network: boolean) => pool.run(task('pid', {}, { network }), never())
    const without = await pid(false)
    const having = await pid(true)
    expect(having).not.toBe(without)
    expect([await pid(false), await pid(true)]).toEqual([without, having])
  })
})

it('a handler with network connects', async () => {
  const port = await listen()
  const call = open().run(task('dial', { way: 'fetch', port }, { module: hostileHandlers, network: true }), never())
  expect(await call).toBe('hi')
})

it.runIf(!limitsNetwork())('a Node.js that cannot refuse the network has one process for both sorts', async () => {
  const pool = open()
  const first = await pool.run(task('pid'), never())
  expect(await pool.run(task('pid', {}, { network: true }), never())).toBe(first)
})

it('starts processes of one sort only if the other is not used', async () => {
  const pool = open({ size: 1, log: silentLog })
  for (let n = 0; n < 3; n++) await pool.run(task('pid'), never())
  expect(pool.pids.length).toBeLessThanOrEqual(2)
  const seen = (await pool.run(task('seen'), never())) as { execArgv: string[] }
  expect(seen.execArgv).not.toContain('--allow-net')
})

it('warms a process of the sort that is asked for', async () => {
  const pool = open()
  pool.warm(task('pid').module, true)
  const [warm] = pool.pids
  expect(await pool.run(task('pid', {}, { network: true }), never())).toBe(warm)
})
