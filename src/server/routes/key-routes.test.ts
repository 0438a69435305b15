import { describe, expect, test, vi } from 'vitest'
import type { KeyRule } from '../../core/storage/key-store.ts'
import type { AuditPage } from '../../core/storage/ledger.ts'
import { newStoredKey } from '../fixtures/new-stored-key.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'

interface MadeKey {
  readonly id: string
  readonly key: string
}

async function keyYard() {
  const server = await openToolServer({ hello: async () => 1 })
  const acme = { 'x-api-key': await server.key('acme', 'admin') }
  const make = (body: object, headers: Record<string, string> = acme) => server.post('/api/keys', body, headers)
  const list = async (headers: Record<string, string> = acme) =>
    ((await (await server.get('/api/keys', headers)).json()) as { keys: Record<string, unknown>[] }).keys
  const remove = (id: string, headers: Record<string, string> = acme) =>
    fetch(`${server.url}/api/keys/${id}`, { method: 'DELETE', headers })
  const change = (id: string, body: object, headers: Record<string, string> = acme) => {
    const init = { method: 'PATCH', headers: { ...headers, 'content-type': 'application/json' } }
    return fetch(`${server.url}/api/keys/${id}`, { ...init, body: JSON.stringify(body) })
  }
  const events = async (event: string) => {
    const { rows } = (await (await server.get('/audit?type=event&limit=100', acme)).json()) as AuditPage
    return rows.filter((row) => row.event === event)
  }
  return { ...server, acme, make, list, remove, change, events }
}

describe('keys', () => {
  test('are created for your tenant, work at once, and are shown once', async () => {
    const { make, list, call, records } = await keyYard()
    const made = await make({ name: 'ci', calls_per_minute: 100 })
    expect(made.status).toBe(201)
    const { key, ...rest } = (await made.json()) as MadeKey
    expect(key).toMatch(/^ty_[\w-]{43}$/)
    expect(rest).toEqual({
      id: expect.any(String),
      name: 'ci',
      role: 'user',
      scopes: null,
      tools: null,
      models: null,
      calls_per_minute: 100,
      budget: null,
      created_at: expect.any(String),
      expires_at: null,
      revoked_at: null,
      created_by: expect.any(String),
      last_used_at: null,
    })
    expect((await call('hello', {}, { 'x-api-key': key })).status).toBe(200)
    expect(await records('acme')).toMatchObject([{ caller: rest.id }])
    expect(await list()).toContainEqual({ ...rest, last_used_at: expect.any(String) })
    expect(JSON.stringify(await list())).not.toMatch(/ty_|hash/)
  })

  test('are revoked at once, and stay in the list', async () => {
    const { make, list, remove, get } = await keyYard()
    const { id, key } = (await (await make({ name: 'ci' })).json()) as MadeKey
    expect((await get('/api/tools/list', { 'x-api-key': key })).status).toBe(200)
    expect((await remove(id)).status).toBe(204)
    expect((await get('/api/tools/list', { 'x-api-key': key })).status).toBe(401)
    expect((await list()).find((one) => one.id === id)).toMatchObject({ revoked_at: expect.any(String) })
    expect((await remove(id)).status).toBe(204)
    expect((await remove('nobody')).status).toBe(404)
  })

  test('are restored within 5 minutes, by a key that has their rights, and not by themselves', async () => {
    const { make, remove, get, post, acme, events, installation } = await keyYard()
    const { id, key } = (await (await make({ name: 'ci', role: 'operator' })).json()) as MadeKey
    const restore = (headers = acme) => post(`/api/keys/${id}/restore`, {}, headers)
    expect((await restore()).status).toBe(409)
    await remove(id)
    const lesser = (await (await make({ role: 'admin', name: 'less', scopes: ['manage'] })).json()) as MadeKey
    expect((await restore({ 'x-api-key': lesser.key })).status).toBe(403)
    expect((await restore({ 'x-api-key': key })).status).toBe(401)
    expect((await restore()).status).toBe(200)
    expect((await get('/api/tools/list', { 'x-api-key': key })).status).toBe(200)
    expect(await events('key.restored')).toMatchObject([
      { subject: id, detail: expect.stringContaining('"name":"ci"') },
    ])
    await installation.access.revokeKey(id, new Date(Date.now() - 301_000).toISOString(), { id: 'x', name: 'x' })
    expect((await restore()).status).toBe(409)
  })

  test('that a revoked key restores at the same moment stay revoked', async () => {
    const { make, remove, post, installation } = await keyYard()
    const lost = (await (await make({ name: 'lost' })).json()) as MadeKey
    const helper = (await (await make({ name: 'helper', role: 'admin' })).json()) as MadeKey
    await remove(lost.id)
    const { access } = installation
    const original = access.restoreKey.bind(access)
    access.restoreKey = async (stored, since, by) => {
      await access.revokeKey(helper.id, new Date().toISOString(), by)
      return original(stored, since, by)
    }
    for (const id of [lost.id, helper.id]) {
      expect((await post(`/api/keys/${id}/restore`, {}, { 'x-api-key': helper.key })).status).toBe(401)
    }
    const valid = (await installation.storage.keys.list()).filter(({ revoked_at }) => revoked_at === null)
    expect(valid.map(({ name }) => name)).not.toContain('lost')
    expect(valid.map(({ name }) => name)).not.toContain('helper')
  })

  test('of other tenants cannot be seen or revoked', async () => {
    const { make, list, remove, key, get } = await keyYard()
    const globex = { 'x-api-key': await key('globex', 'admin') }
    const { id, key: text } = (await (await make({ name: 'ci' })).json()) as MadeKey
    expect((await list(globex)).map(({ name }) => name)).toEqual(['globex admin'])
    expect((await remove(id, globex)).status).toBe(404)
    expect((await get('/api/tools/list', { 'x-api-key': text })).status).toBe(200)
  })

  test('never have more scopes than the key that creates them', async () => {
    const { make, key } = await keyYard()
    const narrow = { 'x-api-key': await key('acme', 'admin', ['manage', 'read']) }
    const whole = { 'x-api-key': await key('acme', 'admin', ['manage', 'read', 'installation']) }
    expect((await make({ name: 'x', role: 'admin' }, narrow)).status).toBe(403)
    expect((await make({ name: 'x', role: 'user' }, narrow)).status).toBe(403)
    expect((await make({ name: 'x', role: 'user', scopes: ['read'] }, narrow)).status).toBe(201)
    expect((await make({ name: 'x', role: 'user', scopes: ['installation'] }, whole)).status).toBe(400)
  })

  test('never add calls to a limited key and never live longer than the key that creates them', async () => {
    const { make, key } = await keyYard()
    const limited = { 'x-api-key': await key('acme', 'admin', undefined, 60) }
    expect((await make({ name: 'x' }, limited)).status).toBe(403)
    expect((await make({ name: 'x', calls_per_minute: 1 }, limited)).status).toBe(403)
    const [soon, later] = [Date.now() + 3_600_000, Date.now() + 7_200_000].map((at) => new Date(at).toISOString())
    const made = await make({ name: 'short', role: 'admin', expires_at: soon })
    const short = { 'x-api-key': ((await made.json()) as { key: string }).key }
    expect((await make({ name: 'x' }, short)).status).toBe(403)
    expect((await make({ name: 'x', expires_at: later }, short)).status).toBe(403)
    expect((await make({ name: 'x', expires_at: soon }, short)).status).toBe(201)
  })

  test('are at most 1,000 of a tenant, with those that were revoked within a day', async () => {
    const { make, installation } = await keyYard()
    const { keys } = installation.storage
    const add = (tenant: string, revokedMsAgo: number) =>
      keys.create(
        newStoredKey(tenant, 'user', { revoked_at: new Date(Date.now() - revokedMsAgo).toISOString() }).stored,
      )
    await Promise.all([add('acme', 60_000), add('acme', 2 * 86_400_000), add('globex', 60_000)])
    // 995 fewer, so that the test needs few keys.
    const create = keys.create.bind(keys)
    const maxima: number[] = []
    keys.create = (key, rule) => {
      const { max, since } = rule as Exclude<KeyRule, 'first'>
      maxima.push(max)
      return create(key, { max: max - 995, since })
    }
    const answers = await Promise.all(Array.from({ length: 9 }, () => make({ name: 'ci' })))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([201, 201, 201, 429, 429, 429, 429, 429, 429])
    expect(new Set(maxima)).toEqual(new Set([1_000]))
  })

  test('that a revoked key makes at the same moment are revoked, too', async () => {
    const { make, get, installation, post } = await keyYard()
    const { id, key } = (await (await make({ name: 'maker', role: 'admin' })).json()) as MadeKey
    const { access } = installation
    const create = access.createKey.bind(access)
    access.createKey = async (stored, by, rule) => {
      await access.revokeKey(id, new Date().toISOString(), by)
      return create(stored, by, rule)
    }
    expect((await post('/api/keys', { name: 'late' }, { 'x-api-key': key })).status).toBe(401)
    const late = (await installation.storage.keys.list()).find(({ name }) => name === 'late')
    expect(late?.revoked_at).toEqual(expect.any(String))
    expect((await get('/api/tools/list', { 'x-api-key': key })).status).toBe(401)
  })

  test('are changed at once, and the audit log has the old and the new values', async () => {
    const { make, list, change, call, events } = await keyYard()
    const made = await make({
      name: 'ci',
      role: 'operator',
      tools: ['other_*'],
      models: ['mini:*'],
      calls_per_minute: 9,
    })
    const { id, key } = (await made.json()) as MadeKey
    expect((await call('hello', {}, { 'x-api-key': key })).status).toBe(403)
    const changes = { name: 'builds', role: 'user', tools: ['hel*'], models: null, budget: { per: 'day', amount: 5 } }
    const changed = await change(id, changes)
    expect([changed.status, await changed.json()]).toMatchObject([200, { id, ...changes, calls_per_minute: 9 }])
    expect((await list()).find((one) => one.id === id)).toMatchObject({ ...changes, calls_per_minute: 9 })
    expect((await call('hello', {}, { 'x-api-key': key })).status).toBe(200)
    const rows = await events('key.changed')
    expect(rows.map(({ subject, detail }) => [subject, JSON.parse(String(detail))])).toEqual([
      [
        id,
        {
          by: 'acme admin',
          name: 'builds',
          old: { name: 'ci', role: 'operator', tools: ['other_*'], models: ['mini:*'], budget: null },
          new: changes,
        },
      ],
    ])
    expect((await change(id, { name: 'builds' })).status).toBe(200)
    expect(await events('key.changed')).toHaveLength(1)
  })

  test('are never given more than the key that changes them has', async () => {
    const { make, change, key } = await keyYard()
    const { id } = (await (await make({ name: 'x', scopes: ['read'], tools: ['get_*'] })).json()) as MadeKey
    const wide = (await (await make({ name: 'wide', role: 'operator' })).json()) as MadeKey
    const few = { 'x-api-key': await key('acme', 'admin', ['manage', 'read']) }
    const limited = { 'x-api-key': await key('acme', 'admin', undefined, 60) }
    const tooled = await make({ name: 'tooled', role: 'admin', tools: ['get_*'], models: ['mini:*'] })
    const narrow = { 'x-api-key': ((await tooled.json()) as MadeKey).key }
    const soon = new Date(Date.now() + 3_600_000).toISOString()
    const timed = await make({ name: 'timed', role: 'admin', expires_at: soon })
    const short = { 'x-api-key': ((await timed.json()) as MadeKey).key }
    const tries: [id: string, body: object, headers: Record<string, string>, status: number][] = [
      [id, { scopes: null }, few, 403],
      [id, { role: 'admin' }, few, 200],
      [id, { scopes: ['read', 'manage'] }, few, 200],
      [wide.id, { name: 'renamed' }, few, 403],
      [wide.id, { scopes: ['read'] }, few, 200],
      [id, { tools: null, models: ['mini:*'] }, narrow, 403],
      [id, { tools: ['get_*', 'set_*'], models: ['mini:*'] }, narrow, 403],
      [id, { tools: ['get_a'], models: null }, narrow, 403],
      [id, { tools: ['get_a'], models: ['mini:*'] }, narrow, 200],
      [id, { name: 'x' }, limited, 403],
      [id, { expires_at: null }, short, 403],
      [id, { expires_at: soon }, short, 200],
    ]
    for (const [of, body, headers, status] of tries) {
      expect([body, (await change(of, body, headers)).status]).toEqual([body, status])
    }
  })

  test('are not changed by a request that is not valid', async () => {
    const { make, change, installation } = await keyYard()
    const { id } = (await (await make({ name: 'ci' })).json()) as MadeKey
    const before = await installation.storage.keys.list()
    const bodies = [
      ...[{}, { role: 'root' }, { role: null }, { scopes: ['installation'] }, { tenant: 'globex' }, { id: 'other' }],
      ...[{ expires_at: '2016-12-31T23:59:60Z' }, { tools: [] }, { models: ['a b'] }, { name: '' }],
    ]
    for (const body of bodies) expect([body, (await change(id, body)).status]).toEqual([body, 400])
    expect(await installation.storage.keys.list()).toEqual(before)
  })

  test('that are revoked, or were changed at the same time, are not changed', async () => {
    const { make, change, remove, installation, list } = await keyYard()
    const { id } = (await (await make({ name: 'ci' })).json()) as MadeKey
    const { keys } = installation.storage
    const stored = await keys.list()
    expect((await change(id, { tools: ['a'] })).status).toBe(200)
    vi.spyOn(keys, 'list').mockResolvedValueOnce(stored)
    expect((await change(id, { tools: null, name: 'lost' })).status).toBe(409)
    expect((await list()).find((one) => one.id === id)).toMatchObject({ name: 'ci', tools: ['a'] })
    expect((await remove(id)).status).toBe(204)
    expect((await change(id, { name: 'late' })).status).toBe(409)
    expect((await change('nobody', { name: 'late' })).status).toBe(404)
  })

  test('that a revoked key changes at the same moment stay as they were', async () => {
    const { make, change, installation, list } = await keyYard()
    const maker = (await (await make({ name: 'maker', role: 'admin' })).json()) as MadeKey
    const { id } = (await (await make({ name: 'ci', tools: ['a'] })).json()) as MadeKey
    const { access } = installation
    const changeKey = access.changeKey.bind(access)
    access.changeKey = async (before, after, by) => {
      await access.revokeKey(maker.id, new Date().toISOString(), by)
      return changeKey(before, after, by)
    }
    expect((await change(id, { tools: null }, { 'x-api-key': maker.key })).status).toBe(401)
    expect((await list()).find((one) => one.id === id)).toMatchObject({ tools: ['a'] })
  })

  test('take no field that only the command line has from the address', async () => {
    const { url, acme, make, post } = await keyYard()
    const { id } = (await (await make({ name: 'ci' })).json()) as MadeKey
    const fields = '?all_tenants=true&id=own'
    const made = await post(`/api/keys${fields}`, { name: 'own' }, acme)
    expect(await made.json()).toMatchObject({ id: expect.stringMatching(/^[\da-f-]{36}$/), scopes: null })
    const headers = { ...acme, 'content-type': 'application/json' }
    const init = { method: 'PATCH', headers, body: JSON.stringify({ name: 'other' }) }
    expect(await (await fetch(`${url}/api/keys/${id}${fields}`, init)).json()).toMatchObject({ id, scopes: null })
  })

  test('of a tenant can be managed by its admins only', async () => {
    const { get, key } = await keyYard()
    for (const role of ['user', 'operator'] as const) {
      expect((await get('/api/keys', { 'x-api-key': await key('acme', role) })).status).toBe(403)
    }
  })

  test.each([
    [{}, "missing 'name'"],
    [{ name: '' }, 'name must have at least 1 character'],
    [{ name: 'a\u0000b' }, 'name must match pattern'],
    [{ name: ' \u200b' }, 'name must match pattern'],
    [{ name: 'a\u2028b' }, 'name must match pattern'],
    [{ name: 'x', all_tenants: true }, "'all_tenants' is not known"],
    [{ name: 'x', scopes: ['read', 'manage'] }, "The role 'user' does not include the scope 'manage'"],
    [{ name: 'x', expires_at: '2020-01-31T00:00:00Z' }, 'is not in the future'],
    [{ name: 'x', role: 'root' }, 'Unknown role "root". Use one of user, operator, admin.'],
    [{ name: 'x', tenant: 'globex' }, "'tenant' is not known"],
    [{ name: 'x', calls_per_minute: 0 }, 'calls_per_minute must be at least 1'],
    [{ name: 'x', tools: [] }, 'tools must have at least 1'],
    [{ name: 'x', models: ['a b'] }, 'models[0] must match pattern'],
    [{ name: 'x', expires_at: 'tomorrow' }, 'expires_at must match format'],
    [{ name: 'x', expires_at: '2016-12-31T23:59:60Z' }, 'is not a time'],
  ])('such as %j are refused', async (body, problem) => {
    const { make } = await keyYard()
    const response = await make(body)
    expect([response.status, await response.json()]).toMatchObject([400, { detail: expect.stringContaining(problem) }])
  })
})

test('a tenant signs out a limited number of users who are not signed in', async () => {
  const { post, acme, installation } = await keyYard()
  const { keys } = installation.storage
  const users = Array.from({ length: 10_000 }, (_none, at) => ({
    ...{ id: `user:acme/${at}`, tenant: 'acme', subject: '', name: '', role: '', basis: '' },
    ...{ issued_at: 0, expires_at: 0, revoked_at: 1 },
  }))
  keys.users = async () => users
  const revoke = async (id: string) => (await post('/api/users/revoke', { id }, acme)).status
  expect([await revoke('user:acme/unknown'), await revoke('user:acme/9')]).toEqual([429, 204])
})
