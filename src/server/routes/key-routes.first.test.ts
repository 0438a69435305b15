import { describe, expect, test } from 'vitest'
import { newStoredKey } from '../fixtures/new-stored-key.ts'
import { openToolServer } from '../fixtures/open-tool-server.ts'

const FIRST = { name: 'mine', role: 'admin' }

describe('the first key', () => {
  test('is one, however many requests ask for it at once', async () => {
    const { post, installation, get } = await openToolServer({})
    const { access } = installation
    // All requests have passed every check before the first key is created.
    const [all, reached] = [Promise.withResolvers<void>(), new Set<string>()]
    const create = access.createKey.bind(access)
    access.createKey = async (key, ...rest) => {
      if (reached.add(key.id).size === 30) all.resolve()
      await all.promise
      return create(key, ...rest)
    }
    const answers = await Promise.all(Array.from({ length: 30 }, () => post('/api/keys', FIRST)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(29).fill(401)])
    const made = answers.find(({ status }) => status === 201) as Response
    const { id, key } = (await made.json()) as { id: string; key: string }
    expect(await installation.storage.keys.list()).toMatchObject([{ id, created_by: null }])
    expect((await get('/api/keys', { 'x-api-key': key })).status).toBe(200)
    await installation.sink.flush()
    const { rows } = await installation.storage.ledger.audit({ tenant: 'local', type: 'event', limit: 100 })
    expect(rows.filter(({ event }) => event === 'key.created')).toHaveLength(1)
  })

  test('is refused if another server has created one that this server has not read yet', async () => {
    const { post, get, installation } = await openToolServer({})
    const { keys } = installation.storage
    const { text, stored } = newStoredKey('local')
    const create = keys.create.bind(keys)
    keys.create = async (...key) => {
      keys.create = create
      await create(stored)
      return create(...key)
    }
    const answer = await post('/api/keys', FIRST)
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null])
    expect(await answer.json()).toMatchObject({ title: 'An API key is required' })
    expect(await keys.list()).toMatchObject([{ id: stored.id }])
    // The server has read it with that.
    expect((await get('/api/keys')).status).toBe(401)
    expect((await get('/api/keys', { 'x-api-key': text })).status).toBe(200)
  })
})
