import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ConfigError } from '../../config/check-config.ts'
import { secretVariable } from '../../core/environment.ts'
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
  const used = await ask('DELETE', '/api/setup/secrets/SHOP_KEY')
  expect([used.status, used.body.error]).toEqual([422, expect.stringContaining('SHOP_KEY in providers.shop')])
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

test('stores a secret once, without showing its value', async () => {
  const { ask, installation, key } = await openSetup()
  const secret = { name: 'SPARE', value: 'a-secret-value' }
  expect((await ask('POST', '/api/setup/secrets', secret, await key('local', 'admin'))).status).toBe(403)
  expect(await ask('POST', '/api/setup/secrets', secret)).toEqual({ status: 201, body: { name: 'SPARE' } })
  expect(await installation.secrets.names()).toEqual(['SPARE'])
  const again = await ask('POST', '/api/setup/secrets', { ...secret, value: 'another-value' })
  expect([again.status, again.body.error]).toEqual([409, expect.stringContaining('already a secret SPARE')])
  const odd = await ask('POST', '/api/setup/secrets', { name: 'a b', value: 'a-secret-value' })
  expect([odd.status, odd.body.error]).toEqual([422, expect.stringContaining('is not a name for a secret')])
  const audit = JSON.stringify((await ask('GET', '/audit?type=event&tenant=*')).body)
  expect(audit).toContain('secret.set')
  expect(audit + JSON.stringify([again, odd])).not.toContain('-value')
})

test('replaces the value of a secret, and what uses it gets the new one', async () => {
  const { ask, installation, key } = await openSetup()
  await ask('POST', '/api/setup/secrets', { name: 'SHOP_KEY', value: 'first-value' })
  const put = (body: object, name = 'SHOP_KEY', as?: string) => ask('PUT', `/api/setup/secrets/${name}`, body, as)
  expect((await put({ value: 'second-value' }, 'SHOP_KEY', await key('local', 'admin'))).status).toBe(403)
  expect((await put({ value: 'second-value' }, 'OTHER')).status).toBe(404)
  expect((await put({ value: ' ' })).status).toBe(422)
  expect((await put({ value: 'second-value' })).status).toBe(204)
  expect(await installation.secrets.variables()).toEqual({ [secretVariable('SHOP_KEY')]: 'second-value' })
  await expect.poll(() => installation.env[secretVariable('SHOP_KEY')]).toBe('second-value')
  const audit = JSON.stringify((await ask('GET', '/audit?type=event&tenant=*')).body)
  expect(audit).toContain('replaced\\":true')
  expect(audit).not.toContain('-value')
})

test('the value of a secret that is an address leads to no private one', async () => {
  const { ask, file, installation } = await openSetup()
  await writeFile(file, TEXT.replace('https://shop.example/v1', '${secret:SHOP_URL}'))
  await installation.reload()
  const problem = { status: 422, body: { error: expect.stringContaining("The host '127.0.0.1' was refused") } }
  const wrong = { value: 'http://127.0.0.1:9/v1' }
  expect(await ask('POST', '/api/setup/secrets', { name: 'SHOP_URL', ...wrong })).toMatchObject(problem)
  await installation.secrets.set('SHOP_URL', 'https://shop.example/v1', { id: 'local', name: 'local' })
  expect(await ask('PUT', '/api/setup/secrets/SHOP_URL', wrong)).toMatchObject(problem)
  expect(await installation.secrets.variables()).toEqual({ [secretVariable('SHOP_URL')]: 'https://shop.example/v1' })
})

test.each([
  ['an MCP server in servers', { servers: { files: { url: '${secret:PLACE}' } } }],
  [
    'an MCP server that lacks another secret',
    { mcpServers: { files: { url: '${secret:PLACE}', headers: { 'x-key': '${secret:NOT_STORED}' } } } },
  ],
  ['the webhook of approvals', { approvals: { webhook: { url: '${secret:PLACE}', secret: '${secret:SIGN}' } } }],
  ['the webhook of alerts', { alerts: { webhook: { url: '${secret:PLACE}', secret: '${secret:SIGN}' } } }],
])('the value of a secret that is the address of %s leads to no private one', async (_, part) => {
  const { ask, file, installation } = await openSetup()
  await writeFile(file, JSON.stringify(part))
  await installation.reload()
  const secret = { name: 'PLACE', value: 'http://127.0.0.1:9/' }
  const { status, body } = await ask('POST', '/api/setup/secrets', secret)
  expect([status, body.error]).toEqual([422, expect.stringContaining("The host '127.0.0.1' was refused")])
  expect(await installation.secrets.names()).toEqual([])
})

test('two secrets that are replaced at the same time do not make a private address together', async () => {
  const { ask, file, installation } = await openSetup()
  await writeFile(file, TEXT.replace('https://shop.example/v1', 'http://${secret:HOST}${secret:PATH}'))
  await installation.reload()
  const put = (name: string, value: string) => ask('PUT', `/api/setup/secrets/${name}`, { value })
  for (const [name, value] of Object.entries({ HOST: 'shop.example/', PATH: 'v1.example' })) {
    await installation.secrets.set(name, value, { id: 'local', name: 'local' })
  }
  const answers = await Promise.all([put('HOST', '127.0.0'), put('PATH', '.1:9')])
  expect(answers.map(({ status }) => status).sort()).toEqual([204, 422])
})

test('a change that is taken back restores private addresses of the file, and none that a secret has got since', async () => {
  const { ask, file, installation } = await openSetup()
  const written = TEXT.replace('https://shop.example/v1', '${secret:SHOP_URL}').replace(
    '"providers": {',
    '"providers": { "own": { "type": "openai", "base_url": "http://10.1.2.3/v1", "api_key": "${OWN}" },',
  )
  await writeFile(file, written)
  await installation.secrets.set('SHOP_URL', 'https://shop.example/v1', { id: 'local', name: 'local' })
  await installation.reload()
  const without = async (name: string): Promise<string> => {
    const change = { kind: 'remove_provider', name }
    return (await ask('POST', '/api/setup/changes', { change, write: true })).body.backup
  }
  const undo = (backup: string) => ask('POST', '/api/setup/undo', { backup })
  expect((await undo(await without('own'))).status).toBe(204)
  expect(await readFile(file, 'utf8')).toBe(written)
  const backup = await without('shop')
  const put = (value: string) => ask('PUT', '/api/setup/secrets/SHOP_URL', { value })
  expect((await put('http://127.0.0.1:9/v1')).status).toBe(204)
  const { status, body } = await undo(backup)
  expect([status, body.error]).toEqual([422, expect.stringContaining("The host '127.0.0.1' was refused")])
  expect(installation.config.providers).not.toHaveProperty('shop')
  expect((await put('https://other.example/v1')).status).toBe(204)
  expect((await undo(backup)).status).toBe(204)
  expect(installation.config.providers).toHaveProperty('shop')
})

test('removes a model, or a provider with its models, with a diff, a backup and an audit row', async () => {
  const { ask, folder, installation } = await openSetup()
  const provider = { kind: 'provider', name: 'shop', models: [{ id: 'small' }, { id: 'large' }] }
  expect((await ask('POST', '/api/setup/changes', { change: provider, write: true })).body.written).toBe(true)
  await installation.secrets.set('SHOP_KEY', 'a-secret-value', { id: 'local', name: 'local' })
  expect((await ask('GET', '/api/setup')).body.models).toEqual([
    { name: 'shop', entry: true, models: ['shop:small', 'shop:large'] },
  ])
  const small = { kind: 'remove_model', id: 'shop:small' }
  const shown = await ask('POST', '/api/setup/changes', { change: small })
  expect(shown.body).toMatchObject({ written: false, text: '' })
  expect(shown.body.diff).toContain('-    { "id": "shop:small"')
  expect((await ask('POST', '/api/setup/changes', { change: small, write: true })).body.written).toBe(true)
  expect(installation.config.models?.map(({ id }) => id)).toEqual(['shop:large'])
  const whole = { kind: 'remove_provider', name: 'shop' }
  const { body } = await ask('POST', '/api/setup/changes', { change: whole, write: true })
  expect(body).toMatchObject({
    written: true,
    warnings: ['The secret SHOP_KEY stays in the store. You can remove it in Settings.'],
  })
  expect(installation.config).toMatchObject({ models: [], providers: {} })
  const { rows } = (await ask('GET', '/audit?type=event&tenant=*')).body
  const row = rows.find(({ event }: { event: string }) => event === 'config.changed')
  expect(JSON.parse(row.detail)).toMatchObject({ removed: { providers: ['shop'], models: ['shop:large'] } })
  const missing = await ask('POST', '/api/setup/changes', { change: whole })
  expect([missing.status, missing.body.error]).toEqual([422, expect.stringContaining('has no provider "shop"')])
  expect(await readFile(join(folder, body.backup), 'utf8')).toContain('shop:large')
  expect((await ask('POST', '/api/setup/undo', { backup: body.backup })).status).toBe(204)
  expect(installation.config.models?.map(({ id }) => id)).toEqual(['shop:large'])
  expect((await ask('DELETE', '/api/setup/secrets/SHOP_KEY')).status).toBe(422)
})

test('removes a tool and an MCP server of the file, and warns if another tool needs it', async () => {
  const { ask, file, installation } = await openSetup()
  const tool = (name: string) => ({
    ...{ name, description: 'A tool.', parameters: { type: 'object' } },
    implementation: { type: 'mock', mock_response: 1 },
  })
  const steps = [{ id: 'a', tool: 'needed' }]
  const pipeline = { ...tool('both'), implementation: { type: 'pipeline', steps } }
  const auth = '${secret:FILES_KEY}'
  const mcpServers = { files: { url: 'https://files.example/mcp', headers: { Authorization: auth }, disabled: true } }
  const registry = [tool('spare'), tool('needed'), pipeline]
  const written = { ...JSON.parse(TEXT), mcpServers, tools: { enabled: true, registry } }
  await writeFile(file, JSON.stringify(written, undefined, 2))
  await installation.secrets.set('FILES_KEY', 'a-secret-value', { id: 'local', name: 'local' })
  await installation.reload()
  const names = () =>
    installation.manager
      .getRegistry()
      .list()
      .map(({ name }) => name)
  const remove = (kind: string, name: string) =>
    ask('POST', '/api/setup/changes', { change: { kind, name }, write: true })
  expect((await ask('GET', '/api/setup')).body).toMatchObject({
    tools: ['spare', 'needed', 'both'],
    servers: ['files'],
  })
  expect(names()).toEqual(expect.arrayContaining(['spare', 'needed', 'both']))
  expect((await remove('remove_tool', 'spare')).body).toMatchObject({ written: true })
  expect(names()).not.toContain('spare')
  expect((await remove('remove_tool', 'needed')).body).toMatchObject({
    written: true,
    warnings: ["The tool both cannot be called yet: Step 'a' calls the unknown tool 'needed'"],
  })
  expect((await remove('remove_tool', 'spare')).body.error).toContain('has no tool "spare"')
  const { body } = await remove('remove_mcp_server', 'files')
  expect(body).toMatchObject({ written: true, warnings: [expect.stringContaining('The secret FILES_KEY stays')] })
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
    mcpServers: {},
    tools: { registry: registry.slice(2) },
  })
})

test('takes only the last change back, and only from the file that it has written', async () => {
  const { ask, file, installation, key } = await openSetup()
  const switched = async (policy: string): Promise<string> => {
    const change = { kind: 'payloads', policy }
    return (await ask('POST', '/api/setup/changes', { change, write: true })).body.backup
  }
  const same = await ask('POST', '/api/setup/changes', { change: { kind: 'payloads', policy: 'off' } })
  expect(same).toMatchObject({ status: 200, body: { diff: '' } })
  const undo = (backup: string, as?: string) => ask('POST', '/api/setup/undo', { backup }, as)
  const [first, second] = [await switched('errors'), await switched('all')]
  expect((await undo(second, await key('local', 'admin'))).status).toBe(403)
  expect((await undo(first)).status).toBe(409)
  expect((await undo('../toolyard.config.json')).status).toBe(409)
  expect((await undo(second)).status).toBe(204)
  expect([installation.payloads, await readFile(file, 'utf8')]).toEqual(['errors', TEXT.replace('"off"', '"errors"')])
  expect((await undo(second)).status).toBe(409)
  const third = await switched('all')
  await writeFile(file, TEXT)
  expect(await undo(third)).toMatchObject({ status: 409, body: { error: expect.stringContaining(`restore ${third}`) } })
  expect(await readFile(file, 'utf8')).toBe(TEXT)
  const { rows } = (await ask('GET', '/audit?type=event&tenant=*')).body
  const kinds = rows.filter(({ detail }: { detail: string }) => detail?.includes('"undo"'))
  expect(kinds.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
    ...['failure', 'failure', 'success', 'failure', 'failure'],
  ])
})

test('keeps an edit that somebody makes while the server fails to load a change', async () => {
  const { ask, file, installation } = await openSetup()
  const edited = TEXT.replace('shop.example', 'shop2.example')
  installation.reload = async () => {
    await writeFile(file, edited)
    throw new ConfigError('it broke')
  }
  const change = { kind: 'payloads', policy: 'errors' }
  const { status, body } = await ask('POST', '/api/setup/changes', { change, write: true })
  expect([status, body.error]).toEqual([409, 'toolyard.config.json has changed meanwhile: look at the change again'])
  expect(await readFile(file, 'utf8')).toBe(edited)
})

test('refuses to remove a provider that a rule uses', async () => {
  const { ask, file, installation } = await openSetup()
  const rules = [{ llm: 'shop', model: 'small', prompt: 'Help.' }]
  await writeFile(file, JSON.stringify({ ...JSON.parse(TEXT), responses: rules }))
  await installation.reload()
  const { status, body } = await ask('POST', '/api/setup/changes', {
    change: { kind: 'remove_provider', name: 'shop' },
  })
  expect([status, body.error]).toEqual([422, expect.stringContaining('Provider shop not found')])
})
