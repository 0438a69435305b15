import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openTestServer } from '../fixtures/open-server.ts'

const TEXT = `{
  "tools": { "enabled": true },
  "storage": { "payloads": "off" },
  "providers": { "shop": { "type": "openai", "base_url": "https://shop.example/v1", "api_key": "\${secret:SHOP_KEY}" } }
}
`

async function openSetup() {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-settings-'))
  const file = join(folder, 'toolyard.config.json')
  await writeFile(file, TEXT)
  const env = { TOOLYARD_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') }
  const server = await openTestServer({}, { file, env })
  onTestFinished(async () => {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  })
  const whole = await server.key('local', 'admin', ['read', 'observe', 'manage', 'installation'])
  const ask = async (method: string, path: string, body?: object, key = whole) => {
    const response = await fetch(server.url + path, {
      method,
      headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  return { ...server, folder, file, ask }
}

test('switches which payloads are stored, with a diff, a backup, a reload and an audit row', async () => {
  const { ask, folder, file, installation, key } = await openSetup()
  const change = { kind: 'payloads', policy: 'errors' }
  const shown = await ask('POST', '/api/setup/changes', { change })
  expect(shown.body).toMatchObject({ written: false, text: '{ "storage": { "payloads": "errors" } }\n' })
  expect(shown.body.diff).toContain('+  "storage": { "payloads": "errors" },')
  expect(await readFile(file, 'utf8')).toBe(TEXT)
  const { body } = await ask('POST', '/api/setup/changes', { change, write: true, base: shown.body.base })
  expect(body).toMatchObject({ written: true, added: { settings: ['storage.payloads: errors'] } })
  expect(await readFile(file, 'utf8')).toBe(TEXT.replace('"off"', '"errors"'))
  expect(await readdir(folder)).toContain(body.backup)
  expect(installation.payloads).toBe('errors')
  expect((await ask('GET', '/api/setup')).body.payloads).toBe('errors')
  const { rows } = (await ask('GET', '/audit?type=event&tenant=*')).body
  const row = rows.find(({ event }: { event: string }) => event === 'config.changed')
  expect(row).toMatchObject({ outcome: 'success', detail: expect.stringContaining('storage.payloads: errors') })
  const admin = await key('local', 'admin')
  expect((await ask('POST', '/api/setup/changes', { change, write: true }, admin)).status).toBe(403)
  const wrong = { kind: 'payloads', policy: 'everything' }
  expect((await ask('POST', '/api/setup/changes', { change: wrong })).status).toBe(400)
})

test('says which parts of the configuration use a secret, never its value, and removes only unused ones', async () => {
  const { ask, installation } = await openSetup()
  for (const name of ['SHOP_KEY', 'SPARE']) {
    await installation.secrets.set(name, 'a-secret-value', { id: 'local', name: 'local' })
  }
  const { body } = await ask('GET', '/api/setup')
  expect(body.secrets).toEqual({
    enabled: true,
    names: ['SHOP_KEY', 'SPARE'],
    uses: { SHOP_KEY: ['providers.shop'], SPARE: [] },
  })
  expect(JSON.stringify(body)).not.toContain('a-secret-value')
  expect((await ask('DELETE', '/api/setup/secrets/SHOP_KEY')).status).toBe(422)
  expect((await ask('DELETE', '/api/setup/secrets/SPARE')).status).toBe(204)
  expect((await ask('GET', '/api/setup')).body.secrets.names).toEqual(['SHOP_KEY'])
})

test('a private address is allowed with the scope installation, and recorded; documents at others are not read', async () => {
  const { ask, installation, key } = await openSetup()
  const implementation = { type: 'http', method: 'GET', url: 'http://10.1.2.3/things' }
  const tool = { name: 'things', description: 'Lists things.', parameters: { type: 'object' }, implementation }
  const change = { kind: 'http_tool', tool, allow_private: ['10.1.2.3'] }
  const admin = await key('local', 'admin')
  expect((await ask('POST', '/api/setup/changes', { change, write: true }, admin)).status).toBe(403)
  expect((await ask('POST', '/api/setup/changes', { change, write: true })).body.written).toBe(true)
  expect(installation.config.http?.allow_private).toEqual(['10.1.2.3'])
  const { rows } = (await ask('GET', '/audit?type=event&tenant=*')).body
  const row = rows.find(({ event }: { event: string }) => event === 'config.changed')
  expect(row.detail).toContain('http.allow_private: 10.1.2.3')
  const refused = await ask('POST', '/api/setup/openapi', { url: 'http://127.0.0.1:9/openapi.json' })
  expect([refused.status, refused.body.error]).toEqual([422, expect.stringContaining('it is a loopback address')])
})
