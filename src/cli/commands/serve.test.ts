import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { LOCAL_CALLER } from '../../app/callers/callers.ts'
import { openTestServer, type TestServerOptions } from '../../server/fixtures/open-server.ts'
import { serve } from '../../server/serve.ts'
import { Prometheus } from '../../telemetry/prometheus.ts'
import { createFirstKey } from './serve.ts'

const KEY = 'k'.repeat(32)

async function opened(options?: TestServerOptions) {
  const { installation, key, close } = await openTestServer({}, options)
  const start = (host: string, insecureLocal: boolean) =>
    serve({ installation, host, port: 0, insecureLocal, prometheus: new Prometheus(), version: '1.2.3' })
  return { installation, key, start, [Symbol.asyncDispose]: close }
}

test('TOOLYARD_ADMIN_KEY is the first key, of an admin of all tenants', async () => {
  await using server = await opened()
  const { callers } = server.installation
  await createFirstKey({ env: { TOOLYARD_ADMIN_KEY: KEY } }, server.installation)
  const [{ scopes } = {}] = await server.installation.storage.keys.list()
  expect(scopes).toEqual(['read', 'call', 'chat', 'observe', 'validate', 'approve', 'manage', 'installation'])
  expect(callers.find(KEY)).toMatchObject({ tenant: 'local', role: 'admin', scopes: LOCAL_CALLER.scopes })
  await createFirstKey({ env: { TOOLYARD_ADMIN_KEY: 'o'.repeat(32) } }, server.installation)
  expect(callers.find('o'.repeat(32))).toBe(undefined)
  await server.installation.sink.flush()
  const { rows } = await server.installation.storage.ledger.audit({ tenant: 'local', type: 'event', limit: 10 })
  const named = {
    event: 'key.created',
    caller: 'local',
    source: 'cli',
    detail: expect.stringContaining('TOOLYARD_ADMIN_KEY'),
  }
  expect(rows).toMatchObject([named, { event: 'tenant.created' }])
})

test('of servers that start together with different keys, one creates the first key', async () => {
  await using server = await opened()
  const { installation } = server
  const keys = ['a', 'b', 'c'].map((letter) => letter.repeat(32))
  await Promise.all(keys.map((key) => createFirstKey({ env: { TOOLYARD_ADMIN_KEY: key } }, installation)))
  expect(await installation.storage.keys.list()).toHaveLength(1)
  expect(keys.filter((key) => installation.callers.find(key) !== undefined)).toHaveLength(1)
})

test('TOOLYARD_ADMIN_KEY_FILE names a file with the first key', async () => {
  await using server = await opened()
  const folder = mkdtempSync(join(tmpdir(), 'admin-key-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'key')
  const start = (env: NodeJS.ProcessEnv) => createFirstKey({ env }, server.installation)
  const env = { TOOLYARD_ADMIN_KEY_FILE: file }
  await expect(start(env)).rejects.toThrow(`TOOLYARD_ADMIN_KEY_FILE: "${file}" cannot be read (ENOENT).`)
  writeFileSync(file, '\n')
  await expect(start(env)).rejects.toThrow('The file in TOOLYARD_ADMIN_KEY_FILE takes at least 32 visible')
  writeFileSync(file, `${KEY}\n`)
  await expect(start({ ...env, TOOLYARD_ADMIN_KEY: KEY })).rejects.toThrow('not both')
  await start(env)
  expect(server.installation.callers.find(KEY)).toMatchObject({ role: 'admin' })
})

test('TOOLYARD_ADMIN_KEY is created once by servers that start at the same time', async () => {
  await using server = await opened()
  const { installation } = server
  const start = () => createFirstKey({ env: { TOOLYARD_ADMIN_KEY: KEY } }, installation)
  await Promise.all([start(), start()])
  expect(await installation.storage.keys.list()).toHaveLength(1)
  expect(installation.callers.find(KEY)).toMatchObject({ role: 'admin' })
})

test.each(['short', 'with a space'.padEnd(32, 'x'), 'ü'.repeat(32)])(
  'TOOLYARD_ADMIN_KEY can not be %j',
  async (TOOLYARD_ADMIN_KEY) => {
    await using server = await opened()
    await expect(createFirstKey({ env: { TOOLYARD_ADMIN_KEY } }, server.installation)).rejects.toThrow(
      'TOOLYARD_ADMIN_KEY takes at least 32 visible ASCII characters.',
    )
    expect(server.installation.callers.keyed).toBe(false)
  },
)

test('--insecure-local accepts requests without a key although there are keys, on a loopback address only', async () => {
  await using server = await opened()
  await server.key('acme')
  const status = async (insecureLocal: boolean) => {
    const { url, close } = await server.start('127.0.0.1', insecureLocal)
    const answer = await fetch(`${url}/api/keys`)
    await close()
    return answer.status
  }
  expect(await status(false)).toBe(401)
  expect(await status(true)).toBe(200)
  await expect(server.start('0.0.0.0', true)).rejects.toThrow(
    "With --insecure-local the server can only listen on a loopback address, not on '0.0.0.0'",
  )
})
