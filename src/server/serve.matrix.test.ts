import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SCOPES, type Scope } from '../app/callers/callers.ts'
import type { Config } from '../config/config.ts'
import { newStoredKey } from './fixtures/new-stored-key.ts'
import { openIssuer } from './fixtures/open-issuer.ts'
import { openTestServer, type TestServer } from './fixtures/open-server.ts'
import { rawRequest } from './fixtures/raw-request.ts'

type Needed = readonly (Scope | readonly Scope[])[] | 'nothing'

interface Expected {
  /** The scopes that a caller needs, all of them. A list in it: one of these. */
  readonly needs: Needed
  readonly body?: object
  /** The id in the path, if it is the id of something that a tenant owns. */
  readonly owned?: 'job' | 'key' | 'suiteRun' | 'approval'
}

const needs = (...scopes: (Scope | readonly Scope[])[]): Expected => ({ needs: scopes })
const open: Expected = { needs: 'nothing' }

/**
 * Every route, and what a caller needs for it. It is repeated here, because the server checks what the
 * route says: a route with the wrong scope fails this test, and so does one that is missing here.
 */
const ROUTES: Readonly<Record<string, Expected>> = {
  'POST /tools/execute': needs('call'),
  'GET /schema/tools': needs('read'),
  'GET /api/tools/list': needs('read'),
  'GET /api/tools/search': needs('read'),
  'GET /api/page/tools': needs('read'),
  'GET /api/page/tools/:name': needs('read'),
  'GET /api/tools/:name/versions': needs('observe'),
  'GET /api/tools/:name/rollout': needs('observe'),
  'PUT /api/tools/:name/rollout': { ...needs('installation'), body: { candidate: '1.0.0', percent: 1 } },
  'DELETE /api/tools/:name/rollout': needs('installation'),
  'POST /api/tools/:name/rollout/promote': needs('installation'),
  'POST /api/tools/:name/rollout/rollback': needs('installation'),
  'GET /api/jobs': needs('call'),
  'GET /api/jobs/:id': { ...needs('call'), owned: 'job' },
  'DELETE /api/jobs/:id': { ...needs('call'), owned: 'job' },
  'POST /chat': needs('chat'),
  'POST /api/tools/test': needs('chat'),
  'POST /v1/chat/completions': needs('chat'),
  'POST /v1/responses': needs('chat'),
  'GET /v1/responses/:id': needs('chat'),
  'DELETE /v1/responses/:id': needs('chat'),
  'POST /v1/embeddings': needs('chat'),
  'POST /api/ai-sdk/chat': needs('chat'),
  'GET /v1/models': needs('read'),
  'GET /v1/models/*': needs('read'),
  'GET /api/connections': needs('call'),
  'POST /api/connections': { ...needs('call'), body: { provider: 'none' } },
  'GET /api/connections/:provider/callback': open,
  'POST /api/connections/:provider/answer': { ...needs('call'), body: { answer: 'state=none' } },
  'DELETE /api/connections/:provider': needs('call'),
  'GET /api/approvals': needs('approve'),
  'GET /api/approvals/:id': { ...needs('approve'), owned: 'approval' },
  'POST /api/approvals/:id': { ...needs('approve'), body: { decision: 'reject' } },
  'GET /api/runs': needs('observe'),
  'GET /api/runs/:id': needs(['chat', 'observe']),
  'DELETE /api/runs/:id': needs('chat'),
  'GET /api/runs/:id/events': needs(['chat', 'observe']),
  'GET /api/runs/:id/cassette': needs('observe'),
  'POST /api/runs/:id/replay': needs('observe'),
  'GET /api/models/list': needs('read'),
  'POST /api/tools/validate': needs('validate'),
  'GET /api/validations/tools': needs('observe'),
  'GET /api/suites': needs('validate'),
  'GET /api/suites/saved/:name': needs('validate'),
  'POST /api/suites/saved/:name/cases': needs('validate'),
  'PUT /api/suites/saved/:name/cases/:id': needs('validate'),
  'DELETE /api/suites/saved/:name/cases/:id': needs('validate'),
  'POST /api/validations/estimate': needs('validate'),
  'POST /api/validations/runs': needs('validate'),
  'GET /api/validations/runs': needs('observe'),
  'GET /api/validations/runs/:id': { ...needs('observe'), owned: 'suiteRun' },
  'GET /api/validations/runs/:id/compare/:contender': needs('observe'),
  'DELETE /api/validations/runs/:id': { ...needs('validate'), owned: 'suiteRun' },
  'POST /mcp': needs('call'),
  'GET /mcp': needs('call'),
  'DELETE /mcp': needs('call'),
  'POST /mcp/:name': needs('call'),
  'GET /mcp/:name': needs('call'),
  'DELETE /mcp/:name': needs('call'),
  'GET /api/mcp/servers': needs('observe'),
  'GET /api/mcp/servers/:name/traffic': needs('installation'),
  'POST /api/mcp/servers/:name/requests': { ...needs('installation', 'call'), body: { method: 'ping' } },
  'POST /api/mcp/servers/:name/reconnect': needs('installation'),
  'POST /api/mcp/servers/:name/approve': { ...needs('installation'), body: { fingerprints: [] } },
  'GET /api/packages': needs('installation'),
  'GET /api/setup': needs('installation'),
  'POST /api/setup/secrets': { ...needs('installation'), body: { name: 'X', value: 'x' } },
  'PUT /api/setup/secrets/:name': { ...needs('installation'), body: { value: 'x' } },
  'POST /api/setup/undo': { ...needs('installation'), body: { backup: 'x' } },
  'DELETE /api/setup/secrets/:name': needs('installation'),
  'POST /api/setup/mcp-servers/test': { ...needs('installation'), body: { servers: {} } },
  'POST /api/setup/models/test': { ...needs('installation'), body: { name: 'none', models: [{ id: 'x' }] } },
  'POST /api/setup/curl': { ...needs('installation'), body: { command: 'curl' } },
  'POST /api/setup/openapi': { ...needs('installation'), body: { document: 'none' } },
  'POST /api/setup/changes': { ...needs('installation'), body: { change: { kind: 'provider', name: 'none' } } },
  'POST /api/setup/documents': { ...needs('installation'), body: { collection: 'x', name: 'x', content: '' } },
  'GET /api/limits': needs('observe'),
  'GET /metrics': needs('observe'),
  'GET /metrics/tools/execution': needs('observe'),
  'GET /metrics/tools/series': needs('observe'),
  'GET /metrics/tools/:name/parameters': needs('observe'),
  'GET /api/budgets': needs('observe'),
  'GET /api/costs': needs('observe'),
  'GET /metrics/models': needs('observe'),
  'GET /metrics/models/series': needs('observe'),
  'GET /audit': needs('observe'),
  'GET /audit/:id': needs('observe'),
  'GET /api/chats': needs('observe'),
  'GET /api/chats/:id': needs('observe'),
  'GET /api/views': needs('observe'),
  'PUT /api/views/:id': needs('observe'),
  'DELETE /api/views/:id': needs('observe'),
  'GET /api/ratings': needs(['chat', 'observe']),
  'PUT /api/ratings': needs(['chat', 'observe']),
  'DELETE /api/ratings/:id': needs(['chat', 'observe']),
  'GET /api/threads': needs('chat'),
  'GET /api/threads/:id': needs('chat'),
  'PUT /api/threads/:id': needs('chat'),
  'DELETE /api/threads/:id': needs('chat'),
  'GET /api/objectives': needs('observe'),
  'GET /api/operations': needs('read'),
  'GET /api/report': needs('installation'),
  'GET /api/keys': needs('manage'),
  'POST /api/keys': needs('manage'),
  'PATCH /api/keys/:id': { ...needs('manage'), owned: 'key', body: { name: 'renamed' } },
  'DELETE /api/keys/:id': { ...needs('manage'), owned: 'key' },
  'POST /api/keys/:id/restore': needs('manage'),
  'POST /api/keys/:id/rotate': { ...needs('manage'), body: {} },
  'GET /api/users': needs('manage'),
  'POST /api/users/revoke': { ...needs('manage'), body: { id: 'user:acme/nobody' } },
  'GET /api/roles': needs('read'),
  'GET /api/tenants': needs('manage'),
  'PATCH /api/tenants/:id': { ...needs('manage', 'installation'), body: { flags: {} } },
  'GET /api/session': open,
  'POST /api/session': open,
  'DELETE /api/session': open,
  'GET /api/session/oidc': open,
  'GET /api/session/oidc/callback': open,
  'GET /.well-known/oauth-protected-resource': open,
  'GET /.well-known/oauth-protected-resource/mcp': open,
  'GET /.well-known/oauth-protected-resource/mcp/:name': open,
  'GET /health': open,
  'HEAD /health': open,
  'GET /ready': open,
  'HEAD /ready': open,
  'GET /openapi.json': open,
  'GET /docs': open,
  'GET /docs/json': open,
  'GET /docs/yaml': open,
  'GET /docs/static/index.html': open,
  'GET /docs/static/swagger-initializer.js': open,
  'GET /docs/static/*': open,
  'HEAD /docs/static/*': open,
  'GET /guide': open,
  'GET /guide/*': open,
  'HEAD /guide/*': open,
  'GET /assets/*': open,
  'HEAD /assets/*': open,
  'GET /': open,
  'GET /tool/:name': open,
  'GET /tools-testing': open,
  'GET /tools-testing/:thread': open,
  'GET /models': open,
  'GET /models/runs/:id': open,
  'GET /setup': open,
  'GET /setup/:job': open,
  'GET /activity': open,
  'GET /activity/:part': open,
  'GET /activity/:part/:id': open,
  'GET /models/suites/:name': open,
  'GET /approvals': open,
  'GET /connect': open,
  'GET /approvals/:id': open,
  'GET /settings': open,
  'GET /runs/:id': open,
}

type Outcome = 'let in' | 'no key' | 'forbidden' | number
interface Caller {
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  readonly outcome: (needed: Needed) => Outcome
}

let server: TestServer
let issuer: Awaited<ReturnType<typeof openIssuer>>
const folder = mkdtempSync(join(tmpdir(), 'toolyard-matrix-'))
const file = join(folder, 'toolyard.config.json')
const configure = (more: Config) =>
  // Requests without a valid key are limited per address, so each comes from another one.
  writeFileSync(file, JSON.stringify({ server: { trusted_proxies: ['127.0.0.1'] }, ...more }))
const owned = { job: randomUUID(), key: randomUUID() as string, suiteRun: randomUUID(), approval: randomUUID() }
let requests = 0

beforeAll(async () => {
  configure({})
  server = await openTestServer({}, { local: true, file })
  issuer = await openIssuer()
})
afterAll(async () => {
  await server.close()
  await issuer.close()
  rmSync(folder, { recursive: true })
})

async function outcomeOf(name: string, headers: Caller['headers'], id = 'unknown'): Promise<Outcome> {
  const [method = '', url = ''] = name.split(' ')
  const path = url.replace(/:\w+|\*/, id)
  const body = /^(POST|PATCH)$/.test(method) ? JSON.stringify(ROUTES[name]?.body ?? {}) : undefined
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  const { status } = await rawRequest(server.url + path, {
    method,
    headers: { ...type, ...headers },
    ...(body !== undefined && { body }),
  })
  if (status === 401) return 'no key'
  if (status === 403) return 'forbidden'
  // 503: the page is not built.
  return status === 429 || status === 500 ? status : 'let in'
}

/** What became of the requests of a caller to all routes, and what should have. */
async function compare(
  { headers, outcome }: Caller,
  via: () => Caller['headers'] = () => ({}),
): Promise<Record<'actual' | 'expected', Record<string, Outcome>>> {
  const actual: Record<string, Outcome> = {}
  const expected: Record<string, Outcome> = {}
  for (const [name, { needs: needed, owned: kind }] of Object.entries(ROUTES)) {
    actual[name] = await outcomeOf(name, { ...headers, ...via() }, kind && owned[kind])
    expected[name] = outcome(needed)
  }
  return { actual, expected }
}

test('the table has every route of the server, and no other', async () => {
  await server.app.ready()
  const routes = new Set(server.app.knownRoutes.all().map(({ method, url }) => `${method} ${url}`))
  expect(Object.keys(ROUTES).sort()).toEqual([...routes].sort())
})

describe('without keys', () => {
  const all = (outcome: Outcome) => () => outcome
  test.each<Caller>([
    { name: 'a local request', headers: {}, outcome: all('let in') },
    { name: 'a local request with any key', headers: { 'x-api-key': 'any' }, outcome: all('let in') },
    { name: 'X-Forwarded-For', headers: { 'x-forwarded-for': '127.0.0.1' }, outcome: all('forbidden') },
    { name: 'X-Forwarded-Proto', headers: { 'x-forwarded-proto': 'https' }, outcome: all('forbidden') },
    { name: 'Forwarded', headers: { forwarded: 'for=127.0.0.1' }, outcome: all('forbidden') },
    { name: 'Via', headers: { via: '1.1 proxy' }, outcome: all('forbidden') },
    { name: 'another host', headers: { host: 'tools.example.com' }, outcome: all('forbidden') },
    { name: 'another page', headers: { origin: 'https://example.com' }, outcome: all('forbidden') },
  ])('$name', async (caller) => {
    const { actual, expected } = await compare(caller)
    expect(actual).toEqual(expected)
  })
})

describe('with keys', () => {
  const callers: Caller[] = []

  beforeAll(async () => {
    configure({ roles: { owner: { scopes: [] } }, auth: { oidc: issuer.settings } })
    await server.installation.reload()
    const { storage, callers: known } = server.installation
    const store = async (more: Parameters<typeof newStoredKey>[2]) => {
      const { text, stored } = newStoredKey('acme', 'admin', more)
      await storage.keys.create(stored)
      await known.load(storage.keys)
      return { text, id: stored.id }
    }
    const signIn = async (key: string) => {
      const body = JSON.stringify({ key })
      const headers = { 'content-type': 'application/json', 'x-forwarded-for': address() }
      const answer = await fetch(`${server.url}/api/session`, { method: 'POST', headers, body })
      return String(answer.headers.get('set-cookie')).split(';', 1)[0] as string
    }
    const end = async (id: string) => {
      await storage.keys.revoke(id, new Date().toISOString())
      await known.load(storage.keys)
    }
    owned.key = (await store({ name: 'owned' })).id
    const job = { tenant: 'acme', caller: null, params: {}, timeout_ms: 1, created_at: new Date().toISOString() }
    const result = { success: true, result: 1, tool_name: 'x', execution_time_ms: 1 } as const
    for (const [id, tool] of [
      [owned.job, 'x'],
      [owned.suiteRun, 'toolyard/suites'],
    ] as const) {
      await storage.jobs.create({ ...job, id, tool })
      await storage.jobs.end(id, 'done', result, job.created_at)
    }

    const asked = {
      kind: 'approval',
      tenant: 'acme',
      caller: 'x',
      tool: 'x',
      version: '0.0.0',
      params_hash: '',
    } as const
    const times = { requested_at: Date.now(), expires_at: Date.now() + 3_600_000 }
    await storage.pauses.ask(
      {
        ...asked,
        id: owned.approval,
        params: {},
        run_id: null,
        call_id: null,
        root_key: null,
        subject: null,
        root_hash: null,
        definitions: null,
        ...times,
      },
      1,
    )

    const refused = (name: string, headers: Caller['headers']) =>
      callers.push({ name, headers, outcome: (needed) => (needed === 'nothing' ? 'let in' : 'no key') })
    const revoked = await store({})
    const cookieOfRevoked = await signIn(revoked.text)
    await end(revoked.id)
    const expired = await store({ expires_at: new Date(Date.now() - 1_000).toISOString() })
    refused('no key', {})
    refused('a wrong key', { 'x-api-key': 'ty_wrong' })
    refused('a malformed key', { authorization: 'Basic dTpw' })
    refused('a revoked key', { 'x-api-key': revoked.text })
    refused('an expired key', { authorization: `Bearer ${expired.text}` })
    refused('an unknown session', { cookie: `toolyard_session=${'a'.repeat(43)}` })
    refused('the session of a revoked key', { cookie: cookieOfRevoked })
    refused('a token for another audience', { authorization: `Bearer ${issuer.token({ aud: 'x' })}` })
    refused('an expired token', { authorization: `Bearer ${issuer.token({ exp: 1 })}` })
    refused('a token as a key', { 'x-api-key': issuer.token() })

    const holder = (name: string, headers: Caller['headers'], scopes: readonly Scope[]) =>
      callers.push({
        name,
        headers,
        outcome: (needed) =>
          needed === 'nothing' || needed.every((scope) => [scope].flat().some((one) => scopes.includes(one)))
            ? 'let in'
            : 'forbidden',
      })
    const roles = {
      user: ['read', 'call', 'chat'],
      operator: ['read', 'call', 'chat', 'observe', 'validate', 'approve'],
      admin: ['read', 'call', 'chat', 'observe', 'validate', 'approve', 'manage'],
    } as const
    const claims = { user: 'staff', operator: 'operators', admin: 'tool-admins' } as const
    holder('a token without a role', { authorization: `Bearer ${issuer.token({ roles: [] })}` }, [])
    for (const [role, scopes] of Object.entries(roles)) {
      const token = issuer.token({ roles: [claims[role as keyof typeof roles]] })
      holder(`a token of the role ${role}`, { authorization: `Bearer ${token}` }, scopes)
      const key = await server.key('acme', role as keyof typeof roles)
      holder(`a key of the role ${role}`, { 'x-api-key': key }, scopes)
      holder(`a session of the role ${role}`, { cookie: await signIn(key) }, scopes)
      const headers = { cookie: await signIn(key), origin: 'https://example.com' }
      const outcome = (needed: Needed): Outcome => (needed === 'nothing' ? 'let in' : 'forbidden')
      callers.push({ name: `a session of the role ${role} from another page`, headers, outcome })
    }
    for (const scope of SCOPES) {
      holder(`a key with the scope ${scope}`, { 'x-api-key': await server.key('acme', 'admin', [scope]) }, [scope])
    }
    holder('a key without scopes', { 'x-api-key': await server.key('acme', 'admin', []) }, [])
    holder('a key with all scopes', { 'x-api-key': await server.key('acme', 'admin', SCOPES) }, SCOPES)
  })

  const address = (): string => `10.${++requests >> 16}.${(requests >> 8) & 255}.${requests & 255}`

  test('every caller gets to the routes that it may use, and to no other', async () => {
    expect(callers.length).toBeGreaterThan(20)
    for (const caller of callers) {
      const { actual, expected } = await compare(caller, () => ({ 'x-forwarded-for': address() }))
      // These look at the cookie themselves.
      if (caller.headers.origin !== undefined) {
        for (const method of ['GET', 'POST', 'DELETE']) expected[`${method} /api/session`] = 'forbidden'
      }
      expect([caller.name, actual]).toEqual([caller.name, expected])
    }
  })

  test('what a tenant owns does not exist for the key of another one', async () => {
    const [own, other] = [await server.key('acme', 'admin'), await server.key('globex', 'admin')]
    for (const [name, { owned: kind, body }] of Object.entries(ROUTES)) {
      if (kind === undefined) continue
      const [method = '', url = ''] = name.split(' ')
      const sent = body && { body: JSON.stringify(body) }
      const status = async (key: string) => {
        const headers = { 'x-api-key': key, ...(sent && { 'content-type': 'application/json' }) }
        return (await fetch(server.url + url.replace(':id', owned[kind]), { method, headers, ...sent })).status
      }
      // The key is revoked by then.
      const isFound = expect.toSatisfy((s) => s < 300 || (s === 409 && kind === 'key'))
      expect([name, await status(other), await status(own)]).toEqual([name, 404, isFound])
    }
  })
})
