import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { serveAsking } from '../src/mcp/fixtures/asking-server.ts'
import { openScriptedServer } from '../src/server/fixtures/open-scripted-server.ts'
import { tool, withServer } from './fixtures/server.ts'

/** A server connected to an MCP server whose questions people answer. */
async function withAsking() {
  const asking = await serveAsking()
  onTestFinished(() => asking.close())
  const mcpServers = { asking: { url: asking.url, forward: { elicitation: 'ask' } } } as const
  const server = await withServer([], { mcpServers })
  await server.installation.manager.getMcpServers().start()
  await vi.waitFor(() => expect(server.installation.manager.getMcpStatus()[0]?.state).toBe('connected'))
  return server
}

describe('What the web UI works with', () => {
  test('[8.3-1] a rotated key works with its former secret only during the grace period', async () => {
    const { post, ask, key } = await withServer([])
    const admin = await key('acme', 'admin')
    const made = (await post('/api/keys', { name: 'ci', role: 'user' }, { key: admin })).body
    const rotate = async (body: object) => (await post(`/api/keys/${made.id}/rotate`, body, { key: admin })).body
    const works = async (secret: string) => (await ask('/schema/tools', { key: secret })).status === 200
    const second = await rotate({ grace_minutes: 60 })
    expect(Date.parse(second.former_until)).toBeGreaterThan(Date.now())
    expect([await works(made.key), await works(second.key)]).toEqual([true, true])
    const third = await rotate({})
    expect([await works(made.key), await works(second.key), await works(third.key)]).toEqual([false, false, true])
  })

  test('[8.3-2] a request by hand reaches the MCP server, and none calls a tool', async () => {
    const { post, key } = await withAsking()
    const admin = await key('acme', 'admin', ['read', 'call', 'observe', 'installation'])
    const send = (body: object) => post('/api/mcp/servers/asking/requests', body, { key: admin })
    const greeting = { method: 'prompts/get', params: { name: 'greet', arguments: { who: 'Ada' } } }
    expect((await send(greeting)).body.result.messages[0].content.text).toBe('Greet Ada')
    expect((await send({ method: 'resources/read', params: {} })).body.error.code).toEqual(expect.any(Number))
    expect((await send({ method: 'tools/call', params: { name: 'ask', arguments: {} } })).status).toBe(422)
  })

  test('[8.3-3] a person answers the question of an MCP server, and the call continues', async () => {
    const { execute, ask, post, key } = await withAsking()
    const operator = await key('acme', 'operator')
    const called = execute('ask')
    const { id, question } = await vi.waitFor(async () => {
      const [one] = (await ask('/api/approvals?status=pending', { key: operator })).body.approvals
      expect(one).toBeDefined()
      return one
    })
    expect(question).toEqual({ kind: 'elicitation', server: 'asking' })
    await post(`/api/approvals/${id}`, { decision: 'approve', params: { name: 'Ada' } }, { key: operator })
    expect((await called).body.result).toBe('accept Ada')
  })

  test('[8.3-4] a thread belongs to its owner, and an older version of it replaces nothing', async () => {
    const { post, ask, key } = await withServer([], { storage: { payloads: 'all' } })
    const put = async (name: string, before: string | null) => {
      const content = { settings: {}, turns: [{ query: 'Hello', replies: [] }] }
      return post('/api/threads/t1', { name, before, content }, { method: 'PUT' })
    }
    const stored = await put('Hello', null)
    expect(stored.body).toMatchObject({ id: 't1', questions: 1 })
    expect((await put('Renamed', stored.body.updated_at)).status).toBe(200)
    expect((await put('Too late', stored.body.updated_at)).status).toBe(409)
    expect((await ask('/api/threads')).body.threads).toMatchObject([{ id: 't1', name: 'Renamed' }])
    expect((await ask('/api/threads/t1', { key: await key('acme', 'admin') })).status).toBe(404)
  })

  test('[8.3-5] a saved view is seen by others of the tenant once it is shared', async () => {
    const { post, ask, key } = await withServer([])
    const [own, colleague] = [await key('acme', 'operator'), await key('acme', 'operator')]
    const view = { name: 'Failures', address: '/activity/calls?outcome=failure', shared: false, pinned: true }
    const save = (body: object) => post('/api/views/v1', body, { method: 'PUT', key: own })
    const names = async (used: string) =>
      (await ask('/api/views', { key: used })).body.views.map((one: typeof view) => [one.name, one.pinned])
    await save(view)
    expect([await names(own), await names(colleague)]).toEqual([[['Failures', true]], []])
    await save({ ...view, shared: true })
    expect(await names(colleague)).toEqual([['Failures', true]])
  })

  test('[8.3-6] everyone has one rating for an answer, and the list of runs filters by ratings', async () => {
    const server = await openScriptedServer(['One.', 'Two.'])
    const send = async (path: string, method = 'GET', body?: object) => {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(server.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      return response.json() as Promise<Record<string, never>>
    }
    const run = async () => (await send('/api/tools/test', 'POST', { query: 'Hi', model: server.model.id })).run_id
    const [run_id] = [await run(), await run()]
    await send('/api/ratings', 'PUT', { run_id, verdict: 'good' })
    await send('/api/ratings', 'PUT', { run_id, verdict: 'bad', comment: 'Too short' })
    expect(await send(`/api/ratings?run_id=${run_id}`)).toMatchObject({
      ratings: [{ verdict: 'bad', comment: 'Too short' }],
    })
    expect(await send('/api/runs?rating=bad')).toMatchObject({ runs: [{ id: run_id, ratings: { good: 0, bad: 1 } }] })
    expect(await send('/api/runs?rating=good')).toMatchObject({ runs: [] })
  })

  test('[8.3-7] two runs of a suite are compared case by case', async () => {
    let isRight = false
    const answer = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
      isRight && messages.at(-1)?.role === 'user' ? { calls: [{ name: 'look', arguments: {} }] } : 'No.'
    const server = await openScriptedServer(Array(9).fill(answer), { tools: { look: () => 1 } })
    const request = { models: [server.model.id], suites: ['generated'], repeat: 1, limit: 1, budget: 1, fresh: true }
    const run = async () => {
      const headers = { 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body: JSON.stringify(request) }
      const { id } = (await (await fetch(`${server.url}/api/validations/runs`, init)).json()) as { id: string }
      await vi.waitFor(async () => {
        const view = await (await fetch(`${server.url}/api/validations/runs/${id}`)).json()
        expect(view).toMatchObject({ state: 'done' })
      })
      return id
    }
    const before = await run()
    isRight = true
    const after = await run()
    const compared = await (await fetch(`${server.url}/api/validations/runs/${before}/compare/${after}`)).json()
    expect(compared).toMatchObject({
      counts: { better: 1, worse: 0 },
      difference: { rate: 1, low: expect.any(Number), high: expect.any(Number) },
      cases: [{ change: 'better' }],
    })
  })

  test('[8.3-8] an older version of a tool is made the current one, and the newer one again', async () => {
    const versions = ['1.0.0', '2.0.0'].map((version) => ({
      ...tool('greet', { version }),
      implementation: { type: 'mock', mock_response: version },
    }))
    const { execute, post, key } = await withServer(versions)
    const admin = await key('acme', 'admin', ['read', 'observe', 'installation'])
    const makeCurrent = async (candidate: string) => {
      const change = { candidate, percent: 0 }
      await post('/api/tools/greet/rollout', change, { method: 'PUT', key: admin })
      await post('/api/tools/greet/rollout/promote', {}, { key: admin })
      return (await execute('greet')).body.result
    }
    expect((await execute('greet')).body.result).toBe('2.0.0')
    expect([await makeCurrent('1.0.0'), await makeCurrent('2.0.0')]).toEqual(['1.0.0', '2.0.0'])
  })

  test('[8.3-9] storage.payloads is shown, written with a backup, and used at once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-spec-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const file = join(folder, 'toolyard.config.json')
    await writeFile(file, '{ "storage": { "payloads": "off" } }\n')
    const { post, ask, key } = await withServer([], {}, { file })
    const admin = await key('acme', 'admin', ['read', 'observe', 'manage', 'installation'])
    const change = { kind: 'payloads', policy: 'errors' }
    const shown = (await post('/api/setup/changes', { change }, { key: admin })).body
    expect([shown.written, await readFile(file, 'utf8')]).toEqual([false, '{ "storage": { "payloads": "off" } }\n'])
    const { base } = shown
    const written = (await post('/api/setup/changes', { change, write: true, base }, { key: admin })).body
    expect(await readFile(file, 'utf8')).toBe('{ "storage": { "payloads": "errors" } }\n')
    expect(await readdir(folder)).toContain(written.backup)
    expect((await ask('/api/setup', { key: admin })).body.payloads).toBe('errors')
  })
})
