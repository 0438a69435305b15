import { appendFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Config } from '../../config/config.ts'
import { addPackages, mockTool, newSigner, packageFiles } from '../../packages/fixtures/package-files.ts'
import { packageFolder } from '../../packages/load-packages.ts'
import { signPackage } from '../../packages/package.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import { ToolManager } from './tool-manager.ts'

type Written = NonNullable<Parameters<typeof packageFiles>[0]> & { readonly granted?: readonly string[] }
const signer = newSigner()
const signed = ({ granted = [], ...written }: Written = {}) => ({
  ...signPackage(packageFiles(written), signer),
  granted,
})

async function open(lockFile: string, config: Config = {}, env: Record<string, string> = {}) {
  const log = captureLog()
  const tools = { enabled: true, ...config.tools }
  const manager = new ToolManager({ ...config, tools }, { log, env, packages: lockFile })
  onTestFinished(() => manager.close())
  const report = await manager.loadTools()
  const call = (name: string, params: object = {}) => manager.getExecutor().execute(name, params)
  return { manager, report, log, call, registry: manager.getRegistry() }
}

const pipeline = (name: string, ...tools: readonly string[]) =>
  mockTool(name, { implementation: { type: 'pipeline', steps: tools.map((tool, at) => ({ id: `s${at}`, tool })) } })

describe('loading packages', () => {
  test('loads the tools of a package after those of the configuration', async () => {
    const { report, call } = await open(await addPackages(signed()), { tools: { registry: [mockTool('local')] } })
    expect(report).toMatchObject({ loaded: ['local', 'hello'], skipped: [] })
    expect(await call('hello')).toMatchObject({ success: true, result: { from: 'hello' } })
  })

  test('loads nothing if tools are switched off, and concurrent calls load once', async () => {
    const lockFile = await addPackages(signed())
    expect((await open(lockFile, { tools: { enabled: false } })).report.loaded).toEqual([])
    const manager = new ToolManager({ tools: { enabled: true } }, { log: captureLog(), packages: lockFile })
    onTestFinished(() => manager.close())
    const [one, other] = await Promise.all([manager.loadTools(), manager.loadTools()])
    expect(one).toBe(other)
  })

  test('a package never overrides a tool of the configuration, also if that one is skipped', async () => {
    const tools = [
      mockTool('mine'),
      mockTool('broken'),
      mockTool('free'),
      pipeline('both', 'free', 'mine'),
      pipeline('all', 'both'),
    ]
    const registry = [
      mockTool('mine', { implementation: { type: 'mock', mock_response: 'local' } }),
      { name: 'broken' },
    ]
    const { report, call, log } = await open(await addPackages(signed({ tools })), { tools: { registry } })
    expect(report.loaded).toEqual(['mine', 'free'])
    expect(report.skipped.slice(1)).toEqual([
      { name: 'mine', problem: "The name 'mine' is used by the configuration: a package never overrides another tool" },
      { name: 'broken', problem: expect.stringContaining('never overrides') },
      { name: 'both', problem: "It calls 'mine', which is left out" },
      { name: 'all', problem: "It calls 'both', which is left out" },
    ])
    expect(await call('mine')).toMatchObject({ result: 'local' })
    expect(log.at('warn')).toContainEqual(expect.objectContaining({ tool: 'mine', place: 'package @acme/tools' }))
  })

  test('of two packages with one tool name, the first has it', async () => {
    const lockFile = await addPackages(signed(), signed({ more: { name: 'other' } }))
    const { report } = await open(lockFile)
    expect(report.loaded).toEqual(['hello'])
    expect(report.skipped).toEqual([{ name: 'hello', problem: expect.stringContaining('used by package @acme/tools') }])
  })

  test('a tool in code takes the name, and tools of the package that call it are removed', async () => {
    const tools = [
      mockTool('read'),
      mockTool('other'),
      pipeline('leak', 'read'),
      pipeline('fine', 'other'),
      pipeline('more', 'leak'),
    ]
    const { registry, call, log } = await open(await addPackages(signed({ tools })))
    expect(await call('leak')).toMatchObject({ success: true })
    registry.addAll([mockTool('read', { implementation: { type: 'mock', mock_response: 'secret' } }) as never])
    expect(await call('read')).toMatchObject({ result: 'secret' })
    expect(await call('leak')).toMatchObject({ error_code: 'TOOL_NOT_FOUND' })
    expect(await call('more')).toMatchObject({ success: false })
    expect(await call('fine')).toMatchObject({ success: true })
    expect(log.at('warn').slice(0, 2)).toEqual([
      { tool: 'read', package: '@acme/tools' },
      { tool: 'leak', place: 'package @acme/tools', problem: expect.stringContaining("It calls 'read'") },
    ])
    expect(() => registry.addAll([mockTool('read') as never])).toThrow('There are two tools')
    // As a server of MCP that is gone.
    registry.unregister('read')
    expect(await call('read')).toMatchObject({ result: { from: 'read' } })
    expect(await call('leak')).toMatchObject({ success: true })
    expect(await call('more')).toMatchObject({ success: true })
    registry.unregister('read')
    expect(registry.has('read')).toBe(false)
  })

  test.each<[string, (lockFile: string) => Promise<void>, string]>([
    [
      'a changed file',
      (file) => appendFile(join(folderOf(file), 'tools/tools.json'), ' '),
      'was changed after it was signed',
    ],
    ['an added file', (file) => writeFile(join(folderOf(file), 'README.md'), 'x'), 'is not in the signed manifest'],
    ['a foreign file', (file) => writeFile(join(folderOf(file), '.env'), 'x'), '".env"'],
    ['another hash', (file) => relock(file, { hash: '0'.repeat(64) }), 'its hash or key has changed'],
    ['another key', (file) => relock(file, { key: newSigner().key }), 'its hash or key has changed'],
    ['a damaged lock file', (file) => writeFile(file, '{"format":1}'), 'No package is loaded'],
  ])('leaves out a package with %s, and loads the local tools', async (_what, tamper, problem) => {
    const lockFile = await addPackages(signed())
    await tamper(lockFile)
    const { report, log } = await open(lockFile, { tools: { registry: [mockTool('local')] } })
    expect(report.loaded).toEqual(['local'])
    expect(report.skipped).toEqual([{ name: expect.any(String), problem: expect.stringContaining(problem) }])
    expect(log.at('warn')).toContainEqual(expect.objectContaining({ problem: expect.stringContaining(problem) }))
  })

  const folderOf = (lockFile: string) => packageFolder(lockFile, '@acme/tools')

  /** Writes another entry of the package into the lock file. */
  async function relock(lockFile: string, more: object): Promise<void> {
    const { version, hash, key } = signed()
    const entry = { version, source: 'a.tgz', hash, key, granted: [], ...more }
    await writeFile(lockFile, JSON.stringify({ format: 1, packages: { '@acme/tools': entry } }))
  }
})

describe('rights of packages', () => {
  test('handlers run isolated: without the environment, and without files beside the package', async () => {
    const handler = `
      import { readFileSync } from 'node:fs'
      const attempt = (work) => { try { return work() } catch (error) { return error.code } }
      export const look = ({ file }) => ({
        variables: Object.keys(process.env),
        file: attempt(() => readFileSync(file, 'utf8')),
        parent: process.ppid === undefined,
      })`
    const tools = [
      mockTool('look', {
        parameters: { type: 'object', properties: { file: { type: 'string' } } },
        implementation: { type: 'internal', handler: 'handlers/look.mjs#look' },
      }),
    ]
    const lockFile = await addPackages(signed({ tools, files: { 'handlers/look.mjs': handler } }))
    const secret = join(dirname(lockFile), 'secret.txt')
    await writeFile(secret, 'secret')
    const { call } = await open(lockFile, {}, { API_KEY: 'secret' })
    expect(await call('look', { file: secret })).toMatchObject({ result: { variables: [], file: 'ERR_ACCESS_DENIED' } })
  })

  test('a package reads only the variables that were granted', async () => {
    const http = (name: string, variable: string) =>
      mockTool(name, {
        implementation: { type: 'http', url: 'https://api.example.com/', headers: { key: `\${${variable}}` } },
      })
    const tools = [http('one', 'ONE_KEY'), http('two', 'TWO_KEY'), pipeline('both', 'one', 'two')]
    const written = { tools, hosts: ['api.example.com'], granted: ['ONE_KEY'] }
    const env = { ONE_KEY: 'first-secret', TWO_KEY: 'second-secret' }
    const { report } = await open(await addPackages(signed(written)), {}, env)
    expect(report.loaded).toEqual(['one'])
    expect(report.skipped).toEqual([
      {
        name: 'two',
        problem: 'The variable TWO_KEY is not granted to @acme/tools: add the package again with --grant TWO_KEY',
      },
      { name: 'both', problem: "It calls 'two', which is left out" },
    ])
    const unset = await open(await addPackages(signed(written)))
    expect(unset.report.skipped[0]).toMatchObject({
      name: 'one',
      problem: expect.stringContaining('ONE_KEY is not set'),
    })
  })

  test('a variable is sent to declared hosts only, also after a redirect', async () => {
    const asked: { host: string | undefined; key: unknown }[] = []
    const server = createServer(({ headers, url }, response) => {
      asked.push({ host: headers.host, key: headers['x-key'] })
      const { port } = server.address() as AddressInfo
      if (url === '/away') response.writeHead(302, { location: `http://localhost:${port}/` }).end()
      else response.setHeader('content-type', 'application/json').end('{"ok":true}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const tool = (name: string, path: string) =>
      mockTool(name, {
        implementation: { type: 'http', url: `http://127.0.0.1:${port}${path}`, headers: { 'x-key': '${API_KEY}' } },
      })
    const tools = [tool('here', '/'), tool('away', '/away')]
    const lockFile = await addPackages(signed({ tools, hosts: ['127.0.0.1'], granted: ['API_KEY'] }))
    // The operator allows both hosts to local tools.
    const http = { allow_private: ['127.0.0.1', '::1'], allowed_domains: ['127.0.0.1', 'localhost'] }
    const { call } = await open(lockFile, { http }, { API_KEY: 'a-long-secret-value' })
    expect(await call('here')).toMatchObject({ success: true, result: { ok: true } })
    expect(await call('away')).toMatchObject({ success: false, error: expect.stringContaining("The host 'localhost'") })
    expect(asked).toEqual(Array.from({ length: 2 }, () => ({ host: `127.0.0.1:${port}`, key: 'a-long-secret-value' })))
  })
})
