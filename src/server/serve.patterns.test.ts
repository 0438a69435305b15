import { expect, test, vi } from 'vitest'
import { INITIALIZE, POST_HEADERS, statelessMessage } from '../mcp/server/fixtures/http-yard.ts'
import { openScriptedServer } from './fixtures/open-scripted-server.ts'

const run = async () => 1

/** A server with the tools `get_one`, `get_two` and `put_one`, and an admin who makes keys. */
async function openServer(config = {}) {
  const call = { name: 'put_one', arguments: {} }
  const server = await openScriptedServer([{ calls: [call] }, 'Done.'], {
    tools: { get_one: run, get_two: run, put_one: run },
    config,
  })
  const admin = await server.key('acme')
  const post = (path: string, body: object, key: string, headers: Record<string, string> = {}) =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key, ...headers },
      body: JSON.stringify(body),
    })
  const get = async (path: string, key: string) =>
    (await fetch(server.url + path, { headers: { 'x-api-key': key } })).json() as Promise<Record<string, never>>
  const make = (body: object, by = admin) => post('/api/keys', { name: 'x', role: 'operator', ...body }, by)
  const made = async (body: object, by = admin) => ((await (await make(body, by)).json()) as { key: string }).key
  return { ...server, admin, post, get, make, made }
}

const named = (tools: readonly { name: string }[]) => tools.map(({ name }) => name).sort()

test('a key with patterns for tools sees and calls those tools only, everywhere', async () => {
  const { post, get, made, model } = await openServer()
  const key = await made({ tools: ['get_*'] })
  const ours = ['get_one', 'get_two']
  for (const path of ['/schema/tools', '/api/tools/list', '/api/page/tools']) {
    expect([path, named((await get(path, key)).tools as never)]).toEqual([path, ours])
  }
  expect(await get('/api/page/tools/put_one', key)).toMatchObject({ status: 404 })

  const execute = async (tool_name: string, headers = {}) => {
    const answer = await post('/tools/execute', { tool_name, params: {} }, key, headers)
    return [answer.status, ((await answer.json()) as { error_code?: string }).error_code]
  }
  expect(await execute('get_one')).toEqual([200, undefined])
  expect(await execute('put_one')).toEqual([403, 'PERMISSION_DENIED'])
  expect(await execute('put_one', { prefer: 'respond-async' })).toEqual([403, 'PERMISSION_DENIED'])
  const misspelled = await post('/tools/execute', { tool_name: 'put_onee', params: {} }, key)
  expect(((await misspelled.json()) as { suggestions?: string[] }).suggestions ?? []).not.toContain('put_one')

  const mcp = async (method: string, params: Record<string, unknown> = {}) => {
    const { message, headers } = statelessMessage(method, params)
    const text = await (await post('/mcp', message, key, { ...POST_HEADERS, ...headers })).text()
    return JSON.parse(text.slice(text.indexOf('{'))).result
  }
  expect(named((await mcp('tools/list')).tools)).toEqual(ours)
  expect(await mcp('tools/call', { name: 'put_one', arguments: {} })).toMatchObject({
    isError: true,
    structuredContent: { error_code: 'PERMISSION_DENIED' },
  })
  const legacy = await post('/mcp', INITIALIZE, key, POST_HEADERS)
  const session = { 'mcp-session-id': legacy.headers.get('mcp-session-id') as string }
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
  const listed = await (await post('/mcp', list, key, { ...POST_HEADERS, ...session })).text()
  expect(named(JSON.parse(listed.slice(listed.indexOf('{'))).result.tools)).toEqual(ours)

  const answer = await post('/chat', { message: 'Go.' }, key)
  expect(named(model.requests[0]?.tools as never)).toEqual(ours)
  expect(((await answer.json()) as { tool_calls: object[] }).tool_calls).toMatchObject([
    { tool: 'put_one', result: { success: false } },
  ])
  const first = await post('/chat', { message: 'Go.', tool_name: 'put_one', tool_params: {} }, key)
  expect([first.status, await first.json()]).toMatchObject([403, { error_code: 'PERMISSION_DENIED' }])
})

test('a key sees the costs of its own tools and models only by name', async () => {
  const { post, get, made, admin } = await openServer()
  for (const tool_name of ['get_one', 'put_one']) await post('/tools/execute', { tool_name, params: {} }, admin)
  await post('/chat', { message: 'Go.' }, admin)
  const rows = async (by: string, key: string) => named((await get(`/api/costs?by=${by}`, key)).rows as never)
  const key = await made({ tools: ['get_*'], models: ['other:*'] })
  expect(await rows('tool', admin)).toEqual(['get_one', 'put_one'])
  expect(await rows('tool', key)).toEqual(['get_one'])
  expect(await rows('model', admin)).toEqual(['scripted:turns'])
  expect(await rows('model', key)).toEqual([])
})

test('a key without the scope call calls no tool by tool_name', async () => {
  const { post, made } = await openServer()
  const body = { message: 'Go.', tool_name: 'put_one', tool_params: {} }
  const refused = await post('/chat', body, await made({ scopes: ['chat'] }))
  expect([refused.status, await refused.json()]).toMatchObject([403, { title: "The API key lacks the scope 'call'" }])
  expect((await post('/chat', body, await made({ scopes: ['chat', 'call'] }))).status).toBe(200)
})

test('the offers of two keys with the same flags differ by their patterns', async () => {
  const { post, made, model, admin } = await openServer()
  await post('/chat', { message: 'Go.' }, await made({ tools: ['get_one'] }))
  await post('/chat', { message: 'Go.' }, admin)
  expect(named(model.requests[0]?.tools as never)).toEqual(['get_one'])
  expect(named(model.requests.at(-1)?.tools as never)).toEqual(
    expect.arrayContaining(['get_one', 'get_two', 'put_one']),
  )
})

test('a key with patterns for models sees and asks those models only, everywhere', async () => {
  const { post, get, made, installation } = await openServer()
  const none = await made({ models: ['mini:*', 'other:turns'] })
  const some = await made({ models: ['scripted:t*'] })
  const messages = [{ role: 'user', content: 'Go.' }]
  const asked: [path: string, body: object, status: number][] = [
    ['/chat', { message: 'Go.' }, 400],
    [
      '/api/ai-sdk/chat',
      { id: 'a', messages: [{ id: 'b', role: 'user', parts: [{ type: 'text', text: 'Go.' }] }] },
      400,
    ],
    ['/api/tools/test', { query: 'Go.', model: 'scripted:turns' }, 400],
    ['/v1/chat/completions', { model: 'scripted:turns', messages }, 404],
    ['/api/validations/estimate', { models: ['scripted:turns'], suites: ['generated'] }, 400],
    ['/api/validations/runs', { models: ['scripted:turns'], suites: ['generated'] }, 400],
  ]
  for (const [path, body, status] of asked) {
    const refused = await post(path, body, none)
    const problem = "Model 'scripted:turns' is not one of the models of this API key: mini:*, other:turns"
    expect([path, refused.status, await refused.text()]).toEqual([path, status, expect.stringContaining(problem)])
    expect([path, (await post(path, body, some)).status]).not.toEqual([path, status])
  }
  installation.manager.getRegistry().register({
    ...{ name: 'ask', description: 'An agent.', parameters: { type: 'object' } },
    implementation: { type: 'agent', model: 'scripted:turns' },
  })
  for (const prefer of ['', 'respond-async']) {
    const execute = async (key: string) => {
      const answer = await post('/tools/execute', { tool_name: 'ask', params: {} }, key, { prefer })
      const { id, ...envelope } = (await answer.json()) as { id?: string; error?: string }
      if (id === undefined) return envelope.error
      const ended = await vi.waitUntil(async () => {
        const { result } = await get(`/api/jobs/${id}`, key)
        return result as unknown as { error?: string } | null
      })
      return ended.error
    }
    expect(await execute(none)).toContain("Model 'scripted:turns' is not one of the models of this API key")
    // The script has no more turns.
    expect(await execute(some)).toContain("Agent 'ask' failed: The script has")
  }
  const ids = async (key: string) => {
    const lists = [(await get('/api/models/list', key)).models, (await get('/v1/models', key)).data]
    return lists.map((models: unknown) => (models as { id: string }[]).map(({ id }) => id))
  }
  expect(await ids(none)).toEqual([[], []])
  expect(await ids(some)).toEqual([['scripted:turns'], ['scripted:turns']])
  expect(await get('/v1/models/scripted:turns', none)).toMatchObject({ error: { code: 'model_not_found' } })
})

test('a key never makes a key with more tools or models', async () => {
  const { make, made } = await openServer()
  const parent = await made({ role: 'admin', tools: ['get_*', 'put_one'], models: ['openai:gpt-4o*'] })
  const status = async (body: object) => (await make(body, parent)).status
  const models = ['openai:gpt-4o-mini']
  for (const tools of [['get_*'], ['put_one', 'get_one'], ['get_t*']]) {
    expect([tools, await status({ tools, models })]).toEqual([tools, 201])
  }
  for (const tools of [undefined, ['*'], ['put_*'], ['*get_*'], ['get_one', 'other'], ['ge*']]) {
    expect([tools, await status({ tools, models })]).toEqual([tools, 403])
  }
  for (const more of [undefined, ['openai:*'], ['*'], ['openai:gpt-4']]) {
    expect([more, await status({ tools: ['get_one'], models: more })]).toEqual([more, 403])
  }
  const refused = await make({ tools: ['*'], models }, parent)
  expect(await refused.json()).toMatchObject({
    title: 'A key cannot grant tools that it does not have',
    detail: "'*' is not in get_*, put_one",
  })
})

test('a key of a configured role uses what both its role and its own patterns allow', async () => {
  const roles = { getter: { scopes: ['read', 'call', 'chat'], tools: ['get_*'], models: ['other:*'] } }
  const { post, get, make, made } = await openServer({ roles })
  const key = await made({ role: 'getter', tools: ['*_one'] })
  for (const path of ['/schema/tools', '/api/tools/list', '/api/page/tools']) {
    expect([path, named((await get(path, key)).tools as never)]).toEqual([path, ['get_one']])
  }
  const statuses = ['get_one', 'get_two', 'put_one'].map(
    async (tool_name) => (await post('/tools/execute', { tool_name, params: {} }, key)).status,
  )
  expect(await Promise.all(statuses)).toEqual([200, 403, 403])
  const { message, headers } = statelessMessage('tools/list')
  const text = await (await post('/mcp', message, key, { ...POST_HEADERS, ...headers })).text()
  expect(named(JSON.parse(text.slice(text.indexOf('{'))).result.tools)).toEqual(['get_one'])
  expect((await get('/v1/models', key)).data).toEqual([])
  expect((await get('/api/roles', key)).roles).toContainEqual({ name: 'getter', ...roles.getter })
  const unknown = await make({ role: 'geter' })
  expect([unknown.status, await unknown.json()]).toMatchObject([
    400,
    { detail: 'Unknown role "geter". Did you mean "getter"?' },
  ])
})

test('a key grants a role only if it has all rights of the role', async () => {
  const roles = {
    getter: { scopes: ['read', 'call'], tools: ['get_*'] },
    keeper: { scopes: ['read', 'manage'], tools: ['get_*'] },
    owner: { scopes: ['read', 'call', 'installation'] },
  }
  const { make, made } = await openServer({ roles })
  expect((await make({ role: 'owner' })).status).toBe(403)
  const keeper = await made({ role: 'keeper' })
  const status = async (body: object) => (await make(body, keeper)).status
  expect(await status({ role: 'getter' })).toBe(403)
  expect(await status({ role: 'getter', scopes: ['read'] })).toBe(201)
  expect(await status({ role: 'getter', scopes: ['read'], tools: ['*'] })).toBe(201)
  expect(await status({ role: 'user', scopes: ['read'] })).toBe(403)
  expect(await status({ role: 'user', scopes: ['read'], tools: ['get_one'] })).toBe(201)
})
