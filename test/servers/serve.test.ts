import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { FULL } from '../setup/full.ts'
import { command, type StartedServer, startServer } from './start-server.ts'

const mock = (name: string) => ({
  name,
  description: `The tool ${name}`,
  parameters: { type: 'object' },
  implementation: { type: 'mock', mock_response: name },
})

let folder: string
let server: StartedServer
let headers: Record<string, string> = { 'content-type': 'application/json' }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolyard-serve-'))
  await configure({ tools: { enabled: true, registry: [mock('one')] } })
  server = await startServer({}, folder)
})
afterAll(async () => {
  server?.process.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

/** Writes the configuration; all of them have an MCP server whose tool `look` takes as long as it is told to. */
function configure(config: object): Promise<void> {
  const notingServer = fileURLToPath(new URL('./noting-server.ts', import.meta.url))
  const notes = { command: process.execPath, args: [notingServer, join(folder, 'notes')] }
  const content = JSON.stringify({ server: { drain_ms: 0 }, ...config, mcpServers: { notes } })
  return writeFile(join(folder, 'toolyard.config.json'), content)
}

const status = async () => (await fetch(`${server.url}/api/tools/list`, { headers })).status

async function names(): Promise<string[]> {
  const { tools } = (await (await fetch(`${server.url}/api/tools/list`, { headers })).json()) as {
    tools: { name: string }[]
  }
  return tools.map(({ name }) => name)
}

async function execute(tool_name: string, params: object = {}) {
  const body = JSON.stringify({ tool_name, params })
  return (await fetch(`${server.url}/tools/execute`, { method: 'POST', headers, body })).json()
}

/** Calls `look`, and waits until it has begun. */
async function look(id: string, ms: number): Promise<{ readonly answer: Promise<unknown> }> {
  await expect.poll(names).toContain('look')
  const answer = execute('look', { id, ms }).catch(() => 'cut off')
  await expect.poll(() => readFile(join(folder, 'notes'), 'utf8').catch(() => '')).toContain(`${id} `)
  return { answer }
}

// One server: each test goes on with what the test before it left.
describe('toolyard serve', () => {
  test('answers this machine without a key, and says so', async () => {
    expect(await execute('one')).toMatchObject({ success: true, result: 'one' })
    // Into a pipe it writes the log and nothing else.
    const records = server.said().trimEnd().split('\n')
    expect(records.map((record) => JSON.parse(record))).toMatchObject([
      { msg: 'There are no API keys: requests from this machine need none' },
    ])
  })

  test('reads the configuration again at SIGHUP, and a bad one changes nothing', async () => {
    await configure({ tools: { enabled: true, registry: [mock('one'), mock('two')] } })
    server.process.kill('SIGHUP')
    await expect.poll(names).toEqual(expect.arrayContaining(['one', 'two']))
    await configure({ tools: { enabld: true } })
    server.process.kill('SIGHUP')
    await expect.poll(() => server.said()).toContain("unknown key 'tools.enabld'")
    expect(await names()).toEqual(expect.arrayContaining(['one', 'two']))
    const tenants = { local: { flags: { two: false } } }
    await configure({ tools: { enabled: true, registry: [mock('one'), mock('two')] }, tenants })
    server.process.kill('SIGHUP')
    await expect.poll(names).not.toContain('two')
    expect(await names()).toContain('one')
  })

  test('calls of the command line are recorded beside those of the server', async () => {
    await command(['exec', 'one'], {}, folder)
    const rows = async () => (await command(['audit', 'list', '--type', 'call'], {}, folder)).document.rows
    const row = { tool: 'one', tenant: 'local', outcome: 'success' }
    await expect.poll(rows).toHaveLength(2)
    expect(await rows()).toMatchObject([
      { ...row, source: 'cli' },
      { ...row, source: 'rest' },
    ])
  })

  test('from the first key on every request needs one', async () => {
    const { document } = await command(['keys', 'create', '--tenant', 'acme'], {}, folder)
    await expect.poll(status).toBe(401)
    headers = { ...headers, authorization: `Bearer ${document.key}` }
    expect(await status()).toBe(200)
  })

  test('lets a running call finish when it is ended, and ends with 0', async () => {
    const { answer } = await look('a', 1_000)
    expect(await server.end()).toBe(0)
    expect(await answer).toMatchObject({ success: true, result: 'seen a' })
  })

  test.runIf(FULL)('keeps what it needs across restarts', async () => {
    server = await startServer({}, folder)
    expect(await status()).toBe(200)
    expect((await fetch(`${server.url}/api/tools/list`)).status).toBe(401)
    const list = async (...words: string[]) => (await command(['audit', 'list', ...words], {}, folder)).document.rows
    expect(await list('--type', 'call')).toHaveLength(3)
    const events = (await list('--type', 'event')).map(({ event }: { event: string }) => event)
    expect(new Set(events)).toEqual(new Set(['config.loaded', 'key.created', 'tenant.created']))
    const { rows, faults } = (await command(['audit', 'verify'], {}, folder)).document
    expect([rows, faults]).toEqual([3 + events.length, []])
  })

  test.runIf(FULL)('a second signal ends it at once', async () => {
    // The call would take 20 s, and would then be answered.
    const { answer } = await look('b', 20_000)
    server.process.kill('SIGTERM')
    // Without a time to drain, it soon refuses connections.
    const isReady = () =>
      fetch(`${server.url}/ready`).then(
        ({ ok }) => ok,
        () => false,
      )
    await expect.poll(isReady).toBe(false)
    const since = performance.now()
    expect(await server.end()).not.toBe(0)
    if (FULL) expect(performance.now() - since).toBeLessThan(3_000)
    expect(await answer).toBe('cut off')
  })
})

describe('toolyard serve refuses', () => {
  const refusal = async (words: readonly string[]) => {
    const empty = await mkdtemp(join(tmpdir(), 'toolyard-serve-'))
    onTestFinished(() => rm(empty, { recursive: true, force: true }))
    const { code, document } = await command(['serve', ...words], {}, empty)
    return [code, document.error]
  }

  test.each([
    ['a host of the world without a key', ['--host', '0.0.0.0'], /keys create/],
    ['a port that is none', ['--port', '70000'], /'70000'/],
    ['a configuration that is none', ['--config', 'nowhere.json'], /nowhere\.json.*there is no such file/],
  ])('%s, with 2 and what to do', async (_, words, says) => {
    expect(await refusal(words)).toEqual([2, expect.stringMatching(says)])
  })

  test('a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    const error = `Port ${port} is already in use. Choose another port, or 0 for any free one.`
    expect(await refusal(['--port', String(port)])).toEqual([2, error])
  })
})

test.each(FULL ? (['SIGTERM', 'SIGINT'] as const) : (['SIGTERM'] as const))(
  '%s to npm start ends the server',
  async (signal) => {
    const data = await mkdtemp(join(tmpdir(), 'toolyard-npm-'))
    onTestFinished(() => rm(data, { recursive: true, force: true }))
    const env = { ...process.env, TOOLYARD_DATA: data, TOOLYARD_PORT: '0' }
    // Without the step that installs packages: they are there.
    const npm = spawn('npm', ['start', '--ignore-scripts'], { env, stdio: ['ignore', 'pipe', 'ignore'] })
    let out = ''
    npm.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    await expect.poll(() => out).toMatch(/at http:\S+/)
    const url = /at (http:\S+)/.exec(out)?.[1] ?? ''
    expect((await fetch(`${url}/health`)).status).toBe(200)
    npm.kill(signal)
    await expect.poll(() => fetch(`${url}/health`).catch(() => 'ended')).toBe('ended')
  },
)
