import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SCOPES } from '../app/callers/callers.ts'
import { INHERITED_NAMES, own } from '../core/fixtures/inherited-names.ts'
import { openTestServer, type TestServer } from './fixtures/open-server.ts'

/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.1:1'

let folder: string
let server: TestServer
let key: Record<string, string>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'toolyard-names-'))
  const file = join(folder, 'toolyard.config.json')
  const each = <Value>(value: (name: string) => Value) =>
    Object.fromEntries(INHERITED_NAMES.map((name) => [name, value(name)]))
  const mock = {
    description: 'x',
    parameters: { type: 'object' },
    implementation: { type: 'mock', mock_response: 'ran' },
  }
  const search = { ...mock, name: 'search', implementation: { type: 'internal', handler: 'rag_query' } }
  const registry = ['ingest_docs', search, ...INHERITED_NAMES.map((name) => ({ ...mock, name }))]
  await writeFile(
    file,
    JSON.stringify({
      tools: { enabled: true, registry, code_mode: { enabled: true } },
      mcpServers: each(() => ({ url: `${NOWHERE}/mcp` })),
      providers: each(() => ({ type: 'ollama', base_url: NOWHERE })),
      models: INHERITED_NAMES.map((name) => ({ id: `${name}:m`, name, capabilities: ['function-calling'] })),
    }),
  )
  server = await openTestServer({}, { file, env: { TOOLYARD_ENCRYPTION_KEY: randomBytes(32).toString('base64') } })
  key = { 'x-api-key': await server.key('acme', 'admin', SCOPES), 'content-type': 'application/json' }
})
afterAll(async () => {
  await server?.close()
  await rm(folder, { recursive: true, force: true })
})

async function ask(path: string, body?: object) {
  const answer = await fetch(server.url + path, {
    ...{ method: body === undefined ? 'GET' : 'POST', headers: key },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: JSON.parse(await answer.text()) }
}

const call = async (tool_name: string, params: object) => (await ask('/tools/execute', { tool_name, params })).body

describe.each(INHERITED_NAMES)('%s', (name) => {
  test('is a collection, a document, a key of metadata and a filter', async () => {
    const document = { content: `The stone of ${name}.`, collection: name, document_id: name }
    const stored = await call('ingest_docs', { ...document, metadata: own(name, 'v') })
    const search = async (more: object) => {
      const answer = await call('search', { query: 'stone', collection: name, ...more })
      return answer.error ?? JSON.stringify(answer.result)
    }
    if (['constructor', 'prototype', '__proto__'].includes(name)) {
      // No parameter of these tools has the key.
      const error = `Invalid parameters: the key '${name}' is not allowed`
      expect([stored.error, await search({ filter: own(name, 'v') })]).toEqual([error, error])
      expect(await call('ingest_docs', document)).toMatchObject({ success: true })
      expect(await search({})).toContain(`stone of ${name}`)
      return
    }
    expect(stored).toMatchObject({ success: true })
    expect(await search({ filter: own(name, 'v') })).toContain(`stone of ${name}`)
    expect(await search({ filter: own(name, 'w') })).not.toContain('stone of')
    expect(await search({ collection: 'other' })).not.toContain('stone of')
  })

  test('is an MCP server, a provider and a model', async () => {
    const servers = (await ask('/api/mcp/servers')).body.servers as { name: string }[]
    // Names of MCP servers lose their underscores at the ends.
    expect(servers.map((one) => one.name)).toContain(name.replaceAll('__', ''))
    expect((await ask('/v1/models')).body.data.map(({ id }: { id: string }) => id)).toContain(`${name}:m`)
    const messages = [{ role: 'user', content: 'x' }]
    const { status, body } = await ask('/v1/chat/completions', { model: `${name}:m`, messages })
    expect([status, body.error.message]).toEqual([502, expect.stringContaining(name)])
    const unknown = await ask('/v1/chat/completions', { model: name, messages })
    expect([unknown.status, unknown.body.error.message]).toEqual([404, expect.stringContaining(name)])
  })

  test('is a secret', async () => {
    const { status, body } = await ask('/api/setup/secrets', { name, value: 'hidden' })
    const { secrets } = (await ask('/api/setup')).body
    if (name.startsWith('_')) {
      expect([status, body.title]).toEqual([422, expect.stringContaining(name)])
      expect(secrets.names).not.toContain(name)
      return
    }
    expect([status, secrets.names.includes(name)]).toEqual([201, true])
    expect(Object.getOwnPropertyDescriptor(secrets.uses, name)?.value).toEqual([])
  })
})

test('code calls tools of these names, except those that JavaScript calls by itself', async () => {
  const names = INHERITED_NAMES.filter((name) => name !== 'then' && name !== 'toJSON')
  const code = `
    const results = [tools.then, tools.toJSON]
    for (const name of ${JSON.stringify(names)}) results.push(await tools[name]({}))
    return results`
  const { success, error, result } = await call('run_code', { code })
  expect([success, error]).toEqual([true, undefined])
  expect(JSON.stringify(result)).toContain(JSON.stringify([null, null, ...names.map(() => 'ran')]))
})
