import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Config } from '../../config/config.ts'
import { deepText } from '../../core/fixtures/foreign-json.ts'
import { INHERITED_NAMES, own } from '../../core/fixtures/inherited-names.ts'
import { openIssuer } from '../fixtures/open-issuer.ts'
import { openTestServer, type TestServer } from '../fixtures/open-server.ts'

let issuer: Awaited<ReturnType<typeof openIssuer>>
let server: TestServer

beforeAll(async () => {
  issuer = await openIssuer()
  const mock = { name: 'mock', description: 'x', parameters: { type: 'object' } }
  const registry = [{ ...mock, implementation: { type: 'mock', mock_response: 'ran' }, permissions: ['allowed'] }]
  const tenants = Object.fromEntries(INHERITED_NAMES.map((name) => [name, { flags: { allowed: true } }]))
  const roles = { owner: { scopes: ['read'] } } as const
  const auth: Config['auth'] = { oidc: issuer.settings }
  server = await openTestServer({
    tools: { enabled: true, registry },
    roles,
    auth,
    tenants,
    limits: { calls_per_minute: 1_000 },
  })
  issuer.serves(server.url)
})
afterAll(async () => {
  await server?.close()
  await issuer?.close()
})

const ask = async (path: string, token: string, body?: object) => {
  const answer = await fetch(server.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, text: await answer.text() }
}

const call = async (token: string) =>
  JSON.parse((await ask('/tools/execute', token, { tool_name: 'mock', params: {} })).text)

describe.each(INHERITED_NAMES)('a claim with the value %s', (name) => {
  test('is a tenant like any other', async () => {
    const token = issuer.token({ tenant: name, sub: `user-of-${name}` })
    expect(await call(token)).toMatchObject({ success: true, result: 'ran' })
    for (const path of ['/api/tools/list', '/metrics/tools/execution', '/api/costs', '/api/tenants', '/api/users']) {
      expect([path, (await ask(path, token)).status]).toEqual([path, 200])
    }
    server.installation.manager.getExecutor().flush()
    await server.installation.sink.flush()
    const { rows } = await server.installation.storage.ledger.audit({ tenant: name, type: 'call', limit: 10 })
    expect(rows).toMatchObject([{ tenant: name, tool: 'mock', outcome: 'success' }])
  })

  test('is no role, and adds none', async () => {
    expect((await ask('/api/tools/list', issuer.token({ roles: [name] }))).status).toBe(403)
    expect((await ask('/api/keys', issuer.token({ roles: [name, 'staff'] }))).status).toBe(403)
  })

  test('is the id and the name of a user', async () => {
    const token = issuer.token({ sub: name, name })
    expect(JSON.parse((await ask('/api/session', token)).text)).toMatchObject({ name })
    expect(server.installation.callers.byId(`user:acme/${name}`)).toMatchObject({ name })
  })
})

test('a tenant that the configuration does not have gets no flags of the inherited names', async () => {
  expect(await call(issuer.token({ tenant: 'other' }))).toMatchObject({ error_code: 'PERMISSION_DENIED' })
})

test.each([
  ['an unused claim', (deep: unknown) => ({ deep }), 200],
  ['a claim called __proto__', (deep: unknown) => own('__proto__', deep), 200],
  ['the tenant', (deep: unknown) => ({ tenant: deep }), 403],
  ['the roles', (deep: unknown) => ({ roles: deep }), 403],
  ['the name', (deep: unknown) => ({ name: deep }), 200],
])('a token with 1,000 levels in %s is read', async (_what, claims, status) => {
  expect((await ask('/api/tools/list', issuer.token(claims(JSON.parse(deepText(1_000)))))).status).toBe(status)
  expect((await fetch(`${server.url}/health`)).status).toBe(200)
})
