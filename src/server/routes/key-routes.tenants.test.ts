import { describe, expect, test } from 'vitest'
import { openToolServer } from '../fixtures/open-tool-server.ts'

const SEES_ALL = ['read', 'call', 'observe', 'manage', 'installation'] as const

async function openYard() {
  const server = await openToolServer(
    { guarded: { run: async () => 'done', permissions: ['beta'] } },
    { tenants: { acme: { flags: { beta: false, old: true } } } },
    { local: false },
  )
  const whole = { 'x-api-key': await server.key('home', 'admin', SEES_ALL) }
  const acme = { 'x-api-key': await server.key('acme', 'admin') }
  const list = async (headers: Record<string, string>) =>
    ((await (await server.get('/api/tenants', headers)).json()) as { tenants: { id: string }[] }).tenants
  const change = (id: string, flags: unknown, headers: Record<string, string> = whole) =>
    fetch(`${server.url}/api/tenants/${encodeURIComponent(id)}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ flags }),
    })
  return { ...server, whole, acme, list, change }
}

describe('tenants', () => {
  test('show configured and stored flags: your tenant, or all with the scope installation', async () => {
    const { list, acme, whole } = await openYard()
    const own = {
      id: 'acme',
      flags: { beta: false, old: true },
      configured: { beta: false, old: true },
      stored: {},
      keys: 1,
    }
    expect(await list(acme)).toEqual([own])
    expect(await list(whole)).toEqual([own, { id: 'home', flags: {}, configured: {}, stored: {}, keys: 1 }])
  })

  test('get flags over those of the configuration, which hold at once; null brings the configuration back', async () => {
    const { change, call, acme } = await openYard()
    expect((await call('guarded', {}, acme)).status).toBe(403)
    const answer = await change('acme', { beta: true, fresh: false })
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { flags: { beta: true, old: true, fresh: false }, stored: { beta: true, fresh: false } },
    ])
    expect((await call('guarded', {}, acme)).status).toBe(200)
    expect(await (await change('acme', { beta: null })).json()).toMatchObject({ stored: { fresh: false } })
    expect((await call('guarded', {}, acme)).status).toBe(403)
    expect(await (await change('acme', { fresh: null })).json()).toMatchObject({ stored: {} })
  })

  test('get all flags that are changed at the same time, by other servers too', async () => {
    const { change, list, acme, installation } = await openYard()
    const { settings } = installation.storage
    const names = Array.from({ length: 10 }, (_none, at) => `flag${at}`)
    // Both have read the flags before one stores them.
    const [both, reads] = [Promise.withResolvers<void>(), { count: 0 }]
    const read = settings.list.bind(settings)
    settings.list = async (kind) => {
      const stored = await read(kind)
      if (++reads.count === names.length) both.resolve()
      await both.promise
      return stored
    }
    await Promise.all(names.map((name) => change('acme', { [name]: false })))
    const all = Object.fromEntries(names.map((name) => [name, false]))
    expect(await list(acme)).toMatchObject([{ stored: all }])
    await Promise.all(names.map((name) => change('acme', { [name]: null })))
    expect(await list(acme)).toMatchObject([{ stored: {} }])
  })

  test('cannot give themselves anything', async () => {
    const { change, acme, call, key } = await openYard()
    const answer = await change('acme', { beta: true }, acme)
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining("'installation'")])
    const operator = { 'x-api-key': await key('acme', 'operator', [...SEES_ALL]) }
    expect((await change('acme', { beta: true }, operator)).status).toBe(403)
    expect((await call('guarded', {}, acme)).status).toBe(403)
  })

  test.each([
    ['acme', { 'a=b': true }, "Invalid flag name 'a=b'"],
    ['acme', { '': true }, "Invalid flag name ''"],
    ['acme', { a: 'yes' }, 'flags.a must be'],
    ['not a name', { a: true }, "Invalid tenant name 'not a name'"],
  ])('of %j with flags %j are refused', async (id, flags, words) => {
    const { change } = await openYard()
    const answer = await change(id, flags)
    expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([
      400,
      expect.stringContaining(words),
    ])
  })
})

test('lists the scopes of each role, and what each scope allows', async () => {
  const { get, key } = await openYard()
  const answer = (await (await get('/api/roles', { 'x-api-key': await key('acme', 'user') })).json()) as {
    roles: { name: string; scopes: string[] }[]
    scopes: { name: string; allows: string }[]
  }
  expect(answer.roles.map(({ name }) => name)).toEqual(['user', 'operator', 'admin'])
  expect(answer.roles[0]?.scopes).toEqual(['read', 'call', 'chat'])
  expect(answer.scopes.find(({ name }) => name === 'manage')?.allows).toBe('the keys of the tenant')
})
