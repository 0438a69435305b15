import { describe, expect, test } from 'vitest'
import type { ShownKey } from '../../operations/key-rules.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'

type Rotated = ShownKey & { readonly key: string; readonly former_until: string | null }

async function open() {
  const server = await openToolServer({ local_tool: async () => 1 }, {}, { local: false })
  const admin = await server.key('acme', 'admin')
  const as = (key: string) => ({ 'x-api-key': key })
  const made = (await (
    await server.post('/api/keys', { name: 'ci', role: 'operator', calls_per_minute: 9 }, as(admin))
  ).json()) as Rotated
  const rotate = async (id: string, body: object = {}, by = admin) => {
    const answer = await server.post(`/api/keys/${id}/rotate`, body, as(by))
    return { status: answer.status, cookie: answer.headers.get('set-cookie'), body: (await answer.json()) as Rotated }
  }
  const works = async (key: string) => (await server.get('/schema/tools', as(key))).status === 200
  return { ...server, admin, as, made, rotate, works }
}

describe('a key that is rotated', () => {
  test('has another secret, the same id and rights, and an audit row without secrets', async () => {
    const { made, rotate, works, get, as, admin } = await open()
    const { status, body, cookie } = await rotate(made.id)
    expect([status, cookie]).toEqual([200, null])
    expect(body).toMatchObject({ id: made.id, role: 'operator', calls_per_minute: 9, former_until: null })
    expect(body.key).toMatch(/^ty_/)
    expect([await works(made.key), await works(body.key)]).toEqual([false, true])
    const rows = await (await get('/audit?type=event', as(admin))).text()
    expect(rows).toContain('key.rotated')
    expect(rows).not.toContain(body.key)
    expect(JSON.stringify(body)).not.toContain('hash')
  })

  test('accepts its last former secret for the grace period, and no earlier one', async () => {
    const { made, rotate, works, installation } = await open()
    const second = (await rotate(made.id, { grace_minutes: 60 })).body
    expect(Date.parse(second.former_until ?? '') - Date.now()).toBeGreaterThan(3_500_000)
    expect([await works(made.key), await works(second.key)]).toEqual([true, true])
    const third = (await rotate(made.id, { grace_minutes: 1_440 })).body
    expect([await works(made.key), await works(second.key), await works(third.key)]).toEqual([false, true, true])
    await installation.access.revokeKey(made.id, new Date().toISOString(), { id: 'x', name: 'x' })
    await installation.callers.load(installation.storage.keys)
    expect([await works(second.key), await works(third.key)]).toEqual([false, false])
  })

  test('ends its sessions and what runs, but not the session that rotates it', async () => {
    const { admin, url, get, as, installation } = await open()
    const signIn = async () => {
      const headers = { 'content-type': 'application/json', origin: url }
      const answer = await fetch(`${url}/api/session`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ key: admin }),
      })
      return answer.headers.get('set-cookie')?.split(';')[0] ?? ''
    }
    const [own, other] = [await signIn(), await signIn()]
    const { id } = (await (await get('/api/session', as(admin))).json()) as { id: string }
    const ended: string[] = []
    installation.callers.onEnd((ids) => void ended.push(...ids))
    const answer = await fetch(`${url}/api/keys/${id}/rotate`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url, cookie: own },
      body: '{}',
    })
    expect(answer.status).toBe(200)
    expect(ended).toEqual([id])
    const next = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
    const keys = async (cookie: string) => (await get('/api/keys', { cookie })).status
    expect([await keys(own), await keys(other), await keys(next)]).toEqual([401, 401, 200])
  })

  test('never gives the caller more rights, and must be valid', async () => {
    const { key, made, rotate, installation } = await open()
    const lesser = await key('acme', 'admin', ['read', 'manage'])
    expect(await rotate(made.id, {}, lesser)).toMatchObject({
      status: 403,
      body: { error: expect.stringContaining('A key cannot grant scopes that it does not have') },
    })
    expect((await rotate(made.id, {}, await key('globex', 'admin'))).status).toBe(404)
    expect((await rotate(made.id, { grace_minutes: 1_441 })).status).toBe(400)
    expect((await rotate(made.id, { grace_minutes: -1 })).status).toBe(400)
    await installation.access.revokeKey(made.id, new Date().toISOString(), { id: 'x', name: 'x' })
    expect((await rotate(made.id)).status).toBe(409)
  })

  test('gives its former secret no access beyond the grace period: no session, no other key, no rotation', async () => {
    const { admin, url, post, get, as, rotate, works } = await open()
    const { id } = (await (await get('/api/session', as(admin))).json()) as { id: string }
    const { body } = await rotate(id, { grace_minutes: 60 })
    const headers = { 'content-type': 'application/json', origin: url }
    const session = await fetch(`${url}/api/session`, { method: 'POST', headers, body: JSON.stringify({ key: admin }) })
    expect([session.status, session.headers.get('set-cookie')]).toEqual([401, null])
    expect(await session.json()).toMatchObject({ error: 'The API key was rotated: sign in with its new secret' })
    const create = (more: object) => post('/api/keys', { name: 'other', role: 'admin', ...more }, as(admin))
    expect((await create({})).status).toBe(403)
    expect((await create({ expires_at: body.former_until })).status).toBe(201)
    expect((await rotate(id)).status).toBe(403)
    expect([await works(admin), await works(body.key)]).toEqual([true, true])
    expect((await rotate(id, {}, body.key)).status).toBe(200)
  })
})
