import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../core/clock.ts'
import { silentLog } from '../../core/log.ts'
import { closeAll, connect, hostileServer, transportTo } from '../fixtures/connect.ts'
import { childrenOf, isRunning, membersOf, until } from '../fixtures/running.ts'
import { StdioTransport } from './stdio-transport.ts'

afterEach(async () => {
  await closeAll()
  await until(() => childrenOf(process.pid).length === 0)
})

const host = new URL('../fixtures/host.ts', import.meta.url).pathname
const shell = ['sh', '-c', `"${process.execPath}" "${hostileServer}"; true`] as const
const stubbornShell = ['sh', '-c', `"${process.execPath}" "${hostileServer}" stubborn; true`] as const

const through = ([command, ...args]: readonly [string, ...string[]]) => ({ command, args })

/** A clock at another speed: deadlines come early, or so late that a slow machine doesn't reach them. */
const clockAt = (speed: number): Clock => ({
  ...systemClock,
  now: () => speed * systemClock.now(),
  after: (ms, callback) => systemClock.after(ms / speed, callback),
})
const hurried = clockAt(10)
const patient = clockAt(0.02)

describe('closing', () => {
  it('lets a server end by itself when its input ends', async () => {
    const { client, transport } = await connect([], { clock: patient })
    await client.close()
    expect(transport.exit).toEqual({ code: 0, signal: null })
  })

  it.each([
    ['alone', {}],
    ['in a shell', through(stubbornShell)],
  ])('ends a server %s that ignores the end of its input and SIGTERM', async (_how, options) => {
    const { client, transport } = await connect(['stubborn'], { ...options, clock: hurried })
    const pid = transport.pid ?? 0
    expect(membersOf(pid)).toContain(pid)
    await client.close()
    await until(() => membersOf(pid).length === 0)
  })

  it.each([
    ['a server', { clock: hurried }],
    ['a server in a shell', { ...through(shell), clock: hurried }],
  ])('leaves nothing of %s that started a process of its own', async (_what, options) => {
    const { client, transport, call } = await connect([], options)
    const pid = transport.pid ?? 0
    const grandchild = Number(await call('grandchild'))
    expect(membersOf(pid)).toContain(grandchild)
    await client.close()
    // A process that was killed takes a moment to be gone.
    await until(() => !isRunning(grandchild) && membersOf(pid).length === 0)
  })

  it('tells once, however often it is asked for', async () => {
    const connected = await connect()
    await Promise.all([connected.transport.close(), connected.transport.close(), connected.client.close()])
    await connected.transport.close()
    expect(connected.closes).toBe(1)
    await expect(connected.transport.send({ jsonrpc: '2.0', method: 'x' })).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: 'The connection to the MCP server is closed',
    })
  })

  it('works before or during the start', async () => {
    const early = transportTo([])
    const start = early.start()
    const close = early.close()
    await Promise.all([start, close])
    expect(early.exit).toBeDefined()
    const never = transportTo([])
    await never.close()
    await expect(never.start()).rejects.toThrow('create a new one')
  })

  it('sends pending messages', async () => {
    const transport = transportTo([], { clock: patient })
    const answers: unknown[] = []
    transport.onmessage = (message) => answers.push(message)
    await transport.start()
    void transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: {} } })
    await transport.close()
    expect(answers).toHaveLength(1)
  })

  it('leaves no process, file or listener behind, a hundred times', async () => {
    const files = (): number => readdirSync('/proc/self/fd').length
    const listeners = (): number => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
    const warnings: Error[] = []
    const warn = (warning: Error): void => void warnings.push(warning)
    process.on('warning', warn)
    const round = async (): Promise<void> => {
      const transport = new StdioTransport({ command: 'cat', log: silentLog })
      const echoed = new Promise((resolve) => {
        transport.onmessage = resolve
      })
      await transport.start()
      await transport.send({ jsonrpc: '2.0', method: 'hello' })
      await echoed
      await transport.close()
    }
    await round()
    const before = [files(), listeners()]
    for (let n = 0; n < 10; n++) await Promise.all(Array.from({ length: 10 }, round))
    expect([files(), listeners()]).toEqual(before)
    await until(() => childrenOf(process.pid).length === 0)
    process.off('warning', warn)
    expect(warnings).toEqual([])
  })
})

describe('when our own process is killed', () => {
  it.each([
    ['a server', [process.execPath, hostileServer, 'stubborn']],
    ['a server in a shell', stubbornShell],
  ])('nothing is left of %s', async (_what, command) => {
    const program = spawn(process.execPath, [host, ...command], { stdio: ['ignore', 'pipe', 'inherit'] })
    const line = await new Promise<string>((resolve) =>
      createInterface({ input: program.stdout }).once('line', resolve),
    )
    const { server, grandchild } = JSON.parse(line)
    const watchdogs = childrenOf(program.pid ?? 0).filter((pid) => pid !== server)
    expect(watchdogs).toHaveLength(1)
    expect(membersOf(server)).toEqual(expect.arrayContaining([server, grandchild]))
    program.kill('SIGKILL')
    await until(() => membersOf(server).length === 0 && ![server, grandchild, ...watchdogs].some(isRunning))
  })
})
