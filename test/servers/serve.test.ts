import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { command, startServer } from './start-server.ts'

const mock = (name: string, more: object = {}) => ({
  name,
  description: `The tool ${name}`,
  parameters: { type: 'object' },
  implementation: { type: 'mock', mock_response: name },
  ...more,
})

const slowServer = fileURLToPath(new URL('./noting-server.ts', import.meta.url))

/** A folder with a configuration, and a server in it. */
async function served(
  config: object = { tools: { enabled: true, registry: [mock('one')] } },
  env: Record<string, string> = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-serve-'))
  const file = join(folder, 'toolyard.config.json')
  const write = (content: unknown) => writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
  await write(config)
  const server = await startServer(env, folder)
  onTestFinished(async () => {
    server.process.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  })
  const execute = async (tool_name: string, params: object = {}) => {
    const body = JSON.stringify({ tool_name, params })
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`${server.url}/tools/execute`, { method: 'POST', headers, body })).json()
  }
  const names = async () => {
    const { tools } = (await (await fetch(`${server.url}/api/tools/list`)).json()) as { tools: { name: string }[] }
    return tools.map(({ name }) => name)
  }
  return { folder, server, write, execute, names }
}

const fails = async (words: readonly string[], folder: string, env: Record<string, string> = {}) => {
  const { code, document } = await command(['serve', ...words], env, folder)
  return { code, error: document.error as string }
}

describe('toolyard serve', () => {
  test('answers this machine without a key, says so, and ends with 0', async () => {
    const { server, execute } = await served()
    expect(await execute('one')).toMatchObject({ success: true, result: 'one' })
    expect(server.said()).toContain('There are no API keys')
    expect(await server.end()).toBe(0)
  })

  test('reads the configuration again at SIGHUP, and a bad one changes nothing', async () => {
    const { server, write, names } = await served()
    await write({ tools: { enabled: true, registry: [mock('one'), mock('two')] } })
    server.process.kill('SIGHUP')
    await expect.poll(names, { timeout: 10_000 }).toEqual(['one', 'two'])
    await write('{"tools": {"enabld": true}}')
    server.process.kill('SIGHUP')
    await expect.poll(() => server.said(), { timeout: 10_000 }).toContain("unknown key 'tools.enabld'")
    expect(await names()).toEqual(['one', 'two'])
    await write({ tools: { enabled: true, registry: [mock('two')] }, tenants: { local: { flags: { two: false } } } })
    server.process.kill('SIGHUP')
    await expect.poll(names, { timeout: 10_000 }).toEqual([])
  })

  test('lets a running call finish when it is ended, and a second signal ends it at once', async () => {
    const config = async (folder: string) => ({
      tools: { enabled: true },
      mcpServers: { notes: { command: process.execPath, args: [slowServer, join(folder, 'notes')] } },
    })
    const notes = await mkdtemp(join(tmpdir(), 'toolyard-notes-'))
    onTestFinished(() => rm(notes, { recursive: true, force: true }))
    const begun = (id: string) =>
      expect.poll(() => readFile(join(notes, 'notes'), 'utf8').catch(() => '')).toContain(`${id} `)
    const first = await served(await config(notes))
    await expect.poll(first.names, { timeout: 20_000 }).toContain('look')
    const call = first.execute('look', { id: 'a', ms: 1_000 })
    await begun('a')
    expect(await first.server.end()).toBe(0)
    expect(await call).toMatchObject({ success: true, result: 'seen a' })

    const second = await served(await config(notes))
    await expect.poll(second.names, { timeout: 20_000 }).toContain('look')
    const cut = second.execute('look', { id: 'b', ms: 20_000 }).then(
      () => 'answered',
      () => 'cut off',
    )
    await begun('b')
    second.server.process.kill('SIGTERM')
    await expect.poll(() => second.server.said()).toContain('Press Ctrl-C again to stop now')
    expect(await second.server.end()).not.toBe(0)
    // The call would have taken 20 s more, and would have been answered.
    expect(await cut).toBe('cut off')
  })

  test('keeps what it needs across restarts, and from the first key on every request needs one', async () => {
    const { folder, server, execute } = await served()
    await execute('one')
    const { document: made } = await command(['keys', 'create', '--tenant', 'acme'], {}, folder)
    await expect.poll(async () => (await fetch(`${server.url}/api/tools/list`)).status, { timeout: 5_000 }).toBe(401)
    const withKey = { headers: { authorization: `Bearer ${made.key}` } }
    expect((await fetch(`${server.url}/api/tools/list`, withKey)).status).toBe(200)
    await server.end()
    const again = await startServer({}, folder)
    onTestFinished(() => void again.process.kill('SIGKILL'))
    expect((await fetch(`${again.url}/api/tools/list`, withKey)).status).toBe(200)
    expect((await fetch(`${again.url}/api/tools/list`)).status).toBe(401)
    await again.end()
    const { document } = await command(['audit', 'verify'], {}, folder)
    expect(document).toMatchObject({ rows: 1, faults: [] })
  })

  test('calls of the command line are recorded beside those of the server', async () => {
    const { folder, server } = await served()
    await command(['exec', 'one'], {}, folder)
    await server.end()
    const { document } = await command(['audit', 'list'], {}, folder)
    expect(document.rows).toMatchObject([{ tool: 'one', source: 'cli', tenant: 'local', outcome: 'success' }])
  })

  test.each([
    ['a host of the world without a key', ['--host', '0.0.0.0'], /keys create/],
    ['a port that is none', ['--port', '70000'], /'70000'/],
    ['a configuration that is none', ['--config', 'nowhere.json'], /nowhere\.json.*there is no such file/],
  ])('refuses %s, with 2 and what to do', async (_, words, says) => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-serve-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const { code, error } = await fails(words, folder)
    expect([code, says.test(error)]).toEqual([2, true])
  })

  test('says that its port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-serve-'))
    onTestFinished(async () => {
      other.close()
      await rm(folder, { recursive: true, force: true })
    })
    const { port } = other.address() as AddressInfo
    const { code, error } = await fails(['--port', String(port)], folder)
    expect([code, error]).toEqual([2, `Port ${port} is already in use. Choose another port, or 0 for any free one.`])
  })
})
