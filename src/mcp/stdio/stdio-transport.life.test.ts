import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { closeAll, connect, transportTo } from '../fixtures/connect.ts'
import { childrenOf, isRunning, membersOf, until } from '../fixtures/running.ts'

const folder = mkdtempSync(join(tmpdir(), 'stdio-transport-'))
const plainFile = join(folder, 'plain-file')
writeFileSync(plainFile, 'echo\n')
chmodSync(plainFile, 0o644)

afterAll(() => rmSync(folder, { recursive: true }))
afterEach(async () => {
  await closeAll()
  await until(() => childrenOf(process.pid).length === 0)
})

const env = { API_KEY: 'my-very-secret-key' }
const start = (command: string, cwd?: string) =>
  transportTo([], {
    command,
    args: ['--token', 'my-very-secret-key'],
    env,
    ...(cwd === undefined ? {} : { cwd }),
  }).start()

describe('starting', () => {
  it.each([
    ['no-such-command', undefined, 'the command is not in PATH'],
    ['/no/such/file', undefined, 'the file, or the interpreter'],
    [plainFile, undefined, 'the file is not executable'],
    ['cat', '/no/such/folder', 'its cwd "/no/such/folder" is not a directory'],
    ['cat', plainFile, `its cwd "${plainFile}" is not a directory`],
    ['a\0b', undefined, 'the system refused (ERR_INVALID_ARG_VALUE)'],
  ])('explains why %j in %j cannot start', async (command, cwd, reason) => {
    const error = await start(command, cwd).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringContaining(`Cannot start the MCP server ${JSON.stringify(command)}: ${reason}`),
    })
    expect(JSON.stringify([error, String(error)])).not.toContain('secret')
  })

  it('waits only for the process', async () => {
    const transport = transportTo(['silent'])
    await transport.start()
    expect(isRunning(transport.pid ?? 0)).toBe(true)
    expect(transport.exit).toBeUndefined()
  })

  it('works only once', async () => {
    const transport = transportTo([])
    await transport.start()
    await expect(transport.start()).rejects.toThrow('create a new one')
  })

  it('refuses what is sent before', async () => {
    await expect(transportTo([]).send({ jsonrpc: '2.0', method: 'x' })).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringContaining('is not started'),
    })
  })

  it('passes only its own and a few common variables to the server', async () => {
    process.env.OUR_OWN_SECRET = 'x'
    const { call } = await connect([], { env })
    delete process.env.OUR_OWN_SECRET
    const seen: Record<string, string> = JSON.parse(await call('environment'))
    const allowed = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'USER', 'SHELL', 'TERM', 'API_KEY']
    const network = /^(?:https?_proxy|no_proxy|node_extra_ca_certs|ssl_cert_file)$/i
    expect(Object.keys(seen).filter((name) => !allowed.includes(name) && !network.test(name))).toEqual([])
    expect(seen).toMatchObject({ PATH: process.env.PATH, API_KEY: 'my-very-secret-key' })
  })

  it.each([['silent'], ['quits']])(
    'is understood by the negotiation of versions (a server that is %s)',
    async (flag) => {
      const transport = transportTo([flag])
      const probe = { mode: 'auto', probe: { timeoutMs: flag === 'silent' ? 300 : 10_000 } } as const
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: probe })
      const outcome = await client.connect(transport).catch((error: { code: string }) => error.code)
      expect(outcome).toBe(flag === 'silent' ? undefined : 'ERA_NEGOTIATION_FAILED')
      await client.close()
    },
  )
})

describe('a server that dies', () => {
  it.each([
    ['die', { code: 3, signal: null }],
    ['kill-self', { code: null, signal: 'SIGKILL' }],
    ['cut-off', { code: 0, signal: null }],
  ])('is reported once with its exit status (%s)', async (tool, exit) => {
    const connected = await connect()
    await expect(connected.call(tool)).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    expect(connected.transport.exit).toEqual(exit)
    expect(connected.closes).toBe(1)
    expect(connected.noise).toHaveLength(tool === 'cut-off' ? 1 : 0)
    await expect(connected.call('echo')).rejects.toThrow()
  })

  it('is heard to its last word', async () => {
    const { call, transport } = await connect()
    expect(await call('answer-and-die')).toBe('last words')
    await until(() => transport.exit !== undefined)
  })

  it('is heard whole, however much it left behind', async () => {
    const transport = transportTo([])
    let heard = 0
    transport.onmessage = () => {
      heard++
    }
    const closed = new Promise<void>((resolve) => {
      transport.onclose = resolve
    })
    await transport.start()
    await transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'much-and-die' } })
    await closed
    expect(heard).toBe(180)
  })

  it('leaves no child processes, even if they hold its output open', async () => {
    const connected = await connect()
    const pid = connected.transport.pid ?? 0
    const grandchild = Number(await connected.call('grandchild'))
    await expect(connected.call('die')).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    // A process that was killed takes a moment to be gone.
    await until(() => !isRunning(grandchild) && membersOf(pid).length === 0)
  })

  it.each(['close-stdin', 'close-stdout'])('includes one that closes its streams (%s)', async (tool) => {
    const connected = await connect()
    const outcome = await connected.call(tool).catch((error: { code: string }) => error.code)
    expect(outcome).toBe(tool === 'close-stdin' ? 'closed' : 'CONNECTION_CLOSED')
    await expect(connected.call('echo', { text: 'x' })).rejects.toThrow()
    expect(connected.closes).toBe(1)
  })
})

describe('a server that does not read', () => {
  it('makes a send wait, then fail, and can still be closed', async () => {
    const { call, transport } = await connect()
    await call('deaf')
    const send = () => transport.send({ jsonrpc: '2.0', method: 'x', params: { text: 'x'.repeat(1024 * 1024) } })
    const sends = await Promise.allSettled(Array.from({ length: 20 }, send))
    const refused = { code: 'SERVICE_UNAVAILABLE', message: expect.stringContaining('does not read'), extras: {} }
    expect(sends.map((one) => (one.status === 'rejected' ? one.reason : 'sent'))).toEqual([
      ...Array(7).fill('sent'),
      ...Array(13).fill(expect.objectContaining(refused)),
    ])
    // What is sent in one turn leaves at its end; from then on a send has to wait.
    await new Promise((resolve) => setImmediate(resolve))
    const waits = transport.send({ jsonrpc: '2.0', method: 'small' })
    const other = await connect()
    expect(await other.call('echo', { text: 'as usual' })).toBe('as usual')
    await Promise.all([
      expect(waits).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', extras: { outcome: 'unknown' } }),
      transport.close(),
    ])
  })

  it('makes a send wait until it reads again', async () => {
    const { call, transport } = await connect()
    await call('deaf', { ms: 100 })
    await transport.send({ jsonrpc: '2.0', method: 'x', params: { text: 'x'.repeat(1024 * 1024) } })
    await new Promise((resolve) => setImmediate(resolve))
    await transport.send({ jsonrpc: '2.0', method: 'small' })
    expect(await call('echo', { text: 'again' })).toBe('again')
  })
})

describe('stderr', () => {
  it('never blocks the server, and its tail has no control sequences', async () => {
    const { call, transport } = await connect()
    expect(await call('stderr-flood', { megabytes: 20 })).toBe('ok')
    await until(() => transport.stderrTail().includes('words'))
    expect(transport.stderrTail()).toMatch(/^last words$/)
  })

  it('is there to be shown when the server has died', async () => {
    const dead = transportTo([], { command: 'sh', args: ['-c', 'echo "cannot find it" >&2; exit 7'] })
    const closed = new Promise<void>((resolve) => {
      dead.onclose = resolve
    })
    await dead.start()
    await closed
    expect(dead.stderrTail()).toBe('cannot find it')
    expect(dead.exit).toEqual({ code: 7, signal: null })
  })
})
