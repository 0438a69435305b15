import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../testing/stand-ins.ts'
import { ConnectionGuard } from './connection-guard.ts'

const ended: (() => void)[] = []
afterEach(() => {
  for (const end of ended.splice(0)) end()
})

/** A server that keeps its connections. */
async function listen(host: string): Promise<{ server: Server; port: number; next(): Promise<Socket> }> {
  const server = createServer((socket) => socket.on('error', () => {})).listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const next = async (): Promise<Socket> => {
    const [socket] = (await once(server, 'connection')) as [Socket]
    ended.push(() => socket.destroy())
    return socket
  }
  ended.push(() => server.close())
  return { server, port, next }
}

const program = (code: string): ChildProcess => {
  const child = spawn(process.execPath, ['-e', code], { stdio: ['pipe', 'ignore', 'ignore'] })
  ended.push(() => child.kill('SIGKILL'))
  return child
}
const idle = (): ChildProcess => program('process.stdin.resume()')
const connecting = (port: number, host: string, then = ''): ChildProcess =>
  program(`require('net').connect(${port}, '${host}', function () { ${then} }).on('error', () => {})`)

function own(port: number, host = '127.0.0.1'): void {
  const socket = connect(port, host).on('error', () => {})
  ended.push(() => socket.destroy())
}

function guarded(child: ChildProcess = idle(), options: ConstructorParameters<typeof ConnectionGuard>[0] = {}) {
  const guard = new ConnectionGuard(options)
  guard.watch(child)
  return guard
}

it('looks nothing up if no child runs', async () => {
  const guard = new ConnectionGuard()
  const { port, next } = await listen('127.0.0.1')
  own(port)
  expect(guard.isFromChild(await next())).toBe(false)
  expect(guard.readings).toBe(0)
})

describe.runIf(process.platform === 'linux')('while a child runs', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    ['::', '127.0.0.1'],
    ['::', '::1'],
  ])('tells its connections from those of other programs (server at %s, client at %s)', async (at, host) => {
    const { port, next } = await listen(at)
    const child = connecting(port, host)
    const guard = guarded(child)
    const ofChild = await next()
    own(port, host)
    const ofOther = await next()
    expect(await Promise.all([guard.isFromChild(ofChild), guard.isFromChild(ofOther)])).toEqual([true, false])
  })

  it('reads once for all connections that wait', async () => {
    const guard = guarded()
    const { server, port } = await listen('127.0.0.1')
    const sockets: Socket[] = []
    server.on('connection', (socket) => sockets.push(socket))
    for (let n = 0; n < 50; n++) own(port)
    await expect.poll(() => sockets.length).toBe(50)
    const answers = await Promise.all(sockets.map((socket) => guard.isFromChild(socket)))
    for (const socket of sockets) socket.destroy()
    expect(new Set(answers)).toEqual(new Set([false]))
    expect(guard.readings).toBe(1)
  })

  it('reads once more for all connections that arrive during a reading', async () => {
    const guard = guarded()
    const { port, next } = await listen('127.0.0.1')
    own(port)
    const socket = await next()
    const first = guard.isFromChild(socket)
    await new Promise(setImmediate)
    expect(guard.readings).toBe(1)
    const others = [1, 2, 3].map(() => guard.isFromChild(socket))
    expect(await Promise.all([first, ...others])).toEqual([false, false, false, false])
    expect(guard.readings).toBe(2)
  })

  it('counts a connection that its client has closed as one of a child', async () => {
    const { port, next } = await listen('127.0.0.1')
    const guard = guarded()
    const client = connect(port, '127.0.0.1')
    const socket = await next()
    client.destroy()
    await once(client, 'close')
    expect(await guard.isFromChild(socket)).toBe(true)
  })

  it('finds connections among many that are closed', async () => {
    const { server, port, next } = await listen('127.0.0.1')
    server.on('connection', (socket) => socket.resume())
    for (let n = 0; n < 300; n++) {
      const client = connect(port, '127.0.0.1').resume().end()
      await once(client, 'close')
    }
    const guard = guarded()
    own(port)
    expect(await guard.isFromChild(await next())).toBe(false)
  })

  it('counts every connection as one of a child if the tables cannot be read', async () => {
    const guard = guarded(idle(), { thread: new URL('./no-such-thread.ts', import.meta.url) })
    const { port, next } = await listen('127.0.0.1')
    own(port)
    const socket = await next()
    expect(await guard.isFromChild(socket)).toBe(true)
    expect(await guard.isFromChild(socket)).toBe(true)
  })
})

describe.runIf(process.platform === 'linux')('after a child has ended', () => {
  it('still refuses its connections', async () => {
    const { port, next } = await listen('127.0.0.1')
    const child = connecting(port, '127.0.0.1', 'process.exit()')
    const guard = guarded(child)
    const exit = once(child, 'exit')
    const socket = await next()
    await exit
    expect(await guard.isFromChild(socket)).toBe(true)
  })

  it('looks up connections for a while, and then no more', async () => {
    const clock = new ManualClock()
    const child = idle()
    const guard = guarded(child, { clock })
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
    const { port, next } = await listen('127.0.0.1')
    own(port)
    const socket = await next()
    clock.advance(15_000)
    expect(await guard.isFromChild(socket)).toBe(false)
    expect(guard.readings).toBe(1)
    clock.advance(15_000)
    expect(guard.isFromChild(socket)).toBe(false)
    expect(guard.readings).toBe(1)
  })

  it('forgets a child that could not be started', async () => {
    const child = spawn('/nowhere/program')
    const guard = guarded(child)
    await once(child, 'error')
    expect(guard.isActive).toBe(false)
  })
})
