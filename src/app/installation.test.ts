import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../core/log.ts'
import { addPackages, newSigner, packageFiles } from '../packages/fixtures/package-files.ts'
import { signPackage } from '../packages/package.ts'
import { captureLog } from '../testing/stand-ins.ts'
import { hashApiKey, newApiKey } from './callers/callers.ts'
import { Tenants } from './callers/tenants.ts'
import { Installation } from './installation.ts'

test('a key that was revoked while the store did not answer is refused once it answers', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-installation-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const installation = await Installation.open({ config: {}, log: silentLog, env: { TOOLYARD_DATA: folder } })
  onTestFinished(() => installation.close())
  const { callers, storage } = installation
  const text = newApiKey()
  const none = {
    scopes: null,
    tools: null,
    models: null,
    calls_per_minute: null,
    expires_at: null,
    revoked_at: null,
    created_by: null,
  }
  const created_at = new Date().toISOString()
  const key = {
    id: 'one',
    hash: hashApiKey(text),
    tenant: 'acme',
    name: 'one',
    role: 'user',
    created_at,
    ...none,
  } as const
  await storage.keys.create(key)
  await vi.waitFor(() => expect(callers.find(text)).toBeDefined())
  const list = vi.spyOn(storage.keys, 'list').mockRejectedValueOnce(new Error('The store does not answer'))
  await storage.keys.revoke(key.id, new Date().toISOString())
  await vi.waitFor(() => expect(callers.find(text)).toBeUndefined())
  expect(list).toHaveBeenCalledTimes(2)
})

test('tools in code stay after a reload, and may not have the name of another tool', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-installation-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'toolyard.config.json')
  const mock = (name: string) => ({
    name,
    description: 'A tool.',
    parameters: { type: 'object' },
    implementation: { type: 'mock', mock_response: name },
  })
  const write = (...names: string[]) =>
    writeFile(file, JSON.stringify({ tools: { enabled: true, registry: names.map(mock) } }))
  await write('one')
  const options = { file, tools: [mock('code')], log: silentLog, env: { TOOLYARD_DATA: folder } }
  const installation = await Installation.open(options)
  onTestFinished(() => installation.close())
  const names = () =>
    installation.manager
      .getRegistry()
      .definitions()
      .map(({ name }) => name)
  expect(names()).toEqual(expect.arrayContaining(['one', 'code']))
  await write('two')
  await installation.reload()
  expect(names()).toEqual(expect.arrayContaining(['two', 'code']))
  await write('code')
  await expect(installation.reload()).rejects.toThrow("There are two tools 'code'")
  expect(names()).toEqual(expect.arrayContaining(['two', 'code']))
})

test('TOOLYARD_TRUST_PROXY adds to the trusted proxies and is checked like them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-installation-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const config = { server: { trusted_proxies: ['10.0.0.1'] } }
  const open = (TOOLYARD_TRUST_PROXY: string) =>
    Installation.open({ config, log: silentLog, env: { TOOLYARD_DATA: folder, TOOLYARD_TRUST_PROXY } })
  const installation = await open('127.0.0.1, 10.1.0.0/16,')
  onTestFinished(() => installation.close())
  expect(installation.config.server?.trusted_proxies).toEqual(['10.0.0.1', '127.0.0.1', '10.1.0.0/16'])
  await expect(open('proxy.internal')).rejects.toThrow('TOOLYARD_TRUST_PROXY')
})

test('a first start with a package logs no error, and reads what changed while it started', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-installation-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const packages = await addPackages({ ...signPackage(packageFiles(), newSigner()), granted: [] })
  const log = captureLog()
  const options = { config: { tools: { enabled: true } }, packages, log, env: { TOOLYARD_DATA: folder } }
  const load = vi.spyOn(Tenants.prototype, 'load')
  onTestFinished(() => load.mockRestore())
  const installation = await Installation.open(options)
  onTestFinished(() => installation.close())
  await vi.waitFor(() => expect(load.mock.calls.length).toBeGreaterThan(1))
  expect(installation.manager.getRegistry().has('hello')).toBe(true)
  expect(log.lines.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([])
})
