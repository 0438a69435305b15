import { expect, test } from 'vitest'
import type { ListedThread, StoredThread, ThreadsView } from '../../operations/threads.ts'
import { openTestServer } from '../fixtures/open-server.ts'

const body = (query: string, before: number | null = null, name = query) => ({
  name,
  before,
  content: {
    settings: { models: ['s:m'] },
    turns: [{ query, replies: [{ answer: { usage: { prompt_tokens: 3 } } }] }],
  },
})

test('stores a thread for its caller, without secrets, and lists, renames and removes it', async () => {
  const server = await openTestServer({ storage: { payloads: 'all' } })
  try {
    const [own, colleague] = [await server.key('acme', 'user'), await server.key('acme', 'admin')]
    const ask = (method: string, path: string, sent?: object, key = own) =>
      fetch(`${server.url}/api/threads${path}`, {
        method,
        headers: { 'x-api-key': key, ...(sent && { 'content-type': 'application/json' }) },
        ...(sent && { body: JSON.stringify(sent) }),
      })
    const list = async (key = own) => (await (await ask('GET', '', undefined, key)).json()) as ThreadsView
    const first = (await (await ask('PUT', '/t1', body('My key is ty_abcdefgh1234'))).json()) as ListedThread
    expect(first).toMatchObject({ id: 't1', name: 'My key is [redacted]', questions: 1 })
    expect(await list()).toEqual({ stored: true, threads: [first] })
    const { content } = (await (await ask('GET', '/t1')).json()) as StoredThread
    expect(JSON.stringify(content)).not.toContain('ty_abcdefgh')
    expect(content.turns[0]).toMatchObject({ replies: [{ answer: { usage: { prompt_tokens: 3 } } }] })

    // Another key of the tenant has its own.
    expect((await list(colleague)).threads).toEqual([])
    expect((await ask('GET', '/t1', undefined, colleague)).status).toBe(404)
    expect((await ask('DELETE', '/t1', undefined, colleague)).status).toBe(404)

    // A browser that has an older version replaces nothing.
    expect((await ask('PUT', '/t1', body('A', null))).status).toBe(409)
    expect((await ask('PUT', '/t1', body('A', first.updated_at, 'Renamed'))).status).toBe(200)
    expect((await list()).threads[0]?.name).toBe('Renamed')

    expect((await ask('PUT', '/t2', { ...body('A'), name: '' })).status).toBe(400)
    expect((await ask('PUT', '/t2', body('x'.repeat(500_001)))).status).toBe(400)
    const long = { name: 'x', before: null, content: { settings: {}, turns: [{ query: 'x'.repeat(500_001) }] } }
    expect((await ask('PUT', '/t2', long)).status).toBe(413)
    expect((await ask('DELETE', '/t1')).status).toBe(204)
    expect((await ask('DELETE', '/t1')).status).toBe(404)
  } finally {
    await server.close()
  }
})

test.each([
  ['with keys and by default', undefined, false],
  ['errors only', { payloads: 'errors' }, false],
  ['without runs', { payloads: 'all', runs: false }, false],
] as const)('says that it stores no threads: %s', async (_name, storage, stored) => {
  const server = await openTestServer(storage === undefined ? {} : { storage })
  try {
    const headers = { 'x-api-key': await server.key('acme', 'user'), 'content-type': 'application/json' }
    expect(await (await fetch(`${server.url}/api/threads`, { headers })).json()).toEqual({ stored, threads: [] })
    const put = await fetch(`${server.url}/api/threads/t`, { method: 'PUT', headers, body: JSON.stringify(body('A')) })
    expect(put.status).toBe(409)
  } finally {
    await server.close()
  }
})

test('counts threads in the quota of the tenant', async () => {
  const config = { storage: { payloads: 'all' }, tenants: { acme: { quota: { storage_bytes: 200 } } } } as const
  const server = await openTestServer(config)
  try {
    const headers = { 'x-api-key': await server.key('acme', 'user'), 'content-type': 'application/json' }
    const put = (id: string, query: string) =>
      fetch(`${server.url}/api/threads/${id}`, { method: 'PUT', headers, body: JSON.stringify(body(query)) })
    expect((await put('a', 'short')).status).toBe(200)
    const refused = await put('b', 'x'.repeat(100))
    expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining('storage_bytes')])
  } finally {
    await server.close()
  }
})
