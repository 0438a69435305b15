import { expect, test } from 'vitest'
import type { SavedView } from '../../operations/views.ts'
import { openTestServer } from '../fixtures/open-server.ts'

test('saves views for their owner or for the tenant', async () => {
  const server = await openTestServer()
  try {
    const keys = {
      own: await server.key('acme', 'operator'),
      colleague: await server.key('acme', 'operator'),
      admin: await server.key('acme', 'admin'),
      other: await server.key('globex', 'admin'),
    }
    const ask = (key: keyof typeof keys, method: string, path: string, body?: object) =>
      fetch(`${server.url}/api/views${path}`, {
        method,
        headers: { 'x-api-key': keys[key], ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
    const list = async (key: keyof typeof keys) =>
      ((await (await ask(key, 'GET', '')).json()) as { views: SavedView[] }).views
    const view = { name: 'Failed calls', address: '/activity/calls?outcome=failure', shared: false, pinned: false }
    expect((await ask('own', 'PUT', '/v1', view)).status).toBe(200)
    expect(await list('own')).toMatchObject([{ ...view, id: 'v1', own: true }])
    expect(await list('colleague')).toEqual([])
    expect((await ask('colleague', 'DELETE', `/v1?owner=${(await list('own'))[0]?.owner}`)).status).toBe(404)

    await ask('own', 'PUT', '/v1', { ...view, name: ' Failures ', shared: true, pinned: true })
    const [shared] = await list('colleague')
    expect(shared).toMatchObject({ name: 'Failures', shared: true, pinned: true, own: false })
    expect(await list('other')).toEqual([])
    expect((await ask('other', 'DELETE', `/v1?owner=${shared?.owner}`)).status).toBe(404)
    expect((await ask('colleague', 'DELETE', `/v1?owner=${shared?.owner}`)).status).toBe(403)
    expect((await ask('admin', 'DELETE', `/v1?owner=${shared?.owner}`)).status).toBe(204)
    expect((await ask('own', 'DELETE', '/v1')).status).toBe(404)

    for (const address of [
      '//example.com',
      'https://example.com',
      '/activity#x',
      '/activity/../x',
      '/settings',
      '/activity?a b',
    ]) {
      expect([address, (await ask('own', 'PUT', '/v2', { ...view, address })).status]).toEqual([address, 400])
    }
    expect((await ask('own', 'PUT', '/v2', { ...view, name: ' ' })).status).toBe(400)
  } finally {
    await server.close()
  }
})
