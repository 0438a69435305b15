import { chmod, lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ConfigError } from '../../config/check-config.ts'
import { openTestServer, type TestServerOptions } from '../fixtures/open-server.ts'

const KEY = Buffer.alloc(32, 7).toString('base64')
const EMPTY = `{
  "tools": {
    "enabled": true,
    "registry": [ { "name": "a", "description": "A.", "parameters": { "type": "object" }, "implementation": { "type": "mock" } } ]
  }
}
`

interface Opened {
  readonly text?: string
  readonly options?: TestServerOptions
}

/** A server without keys over a configuration file. */
async function openSetup({ text = EMPTY, options = {} }: Opened = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-setup-'))
  const file = join(folder, 'toolyard.config.json')
  await writeFile(file, text)
  const env = { TOOLYARD_ENCRYPTION_KEY: KEY, ...options.env }
  const server = await openTestServer({}, { file, local: true, ...options, env })
  onTestFinished(async () => {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  })
  const ask = async (method: string, path: string, body?: unknown, key?: string) => {
    const response = await fetch(`${server.url}/api/setup${path}`, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...(key && { 'x-api-key': key }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answer = await response.text()
    return { status: response.status, body: answer === '' ? undefined : JSON.parse(answer) }
  }
  const change = (change: object, more: object = {}, key?: string) => ask('POST', '/changes', { change, ...more }, key)
  const events = async () => {
    await server.installation.sink.flush()
    const response = await fetch(`${server.url}/audit?type=event&limit=100&tenant=*`)
    const { rows } = (await response.json()) as { rows: { event: string; detail: string; subject: string }[] }
    return rows
  }
  return { ...server, file, home: folder, ask, change, events, read: () => readFile(file, 'utf8') }
}

const TOOL = {
  name: 'get_user',
  description: 'Get a user.',
  parameters: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
  implementation: {
    type: 'http',
    url: 'https://api.example.com/users/{id}',
    auth: { type: 'bearer', token: '${secret:EXAMPLE_TOKEN}' },
  },
}

test('writes a tool, its secret and a backup, and reloads', async () => {
  const { change, read, home, installation, ask, events } = await openSetup()
  expect((await ask('GET', '')).body).toEqual({
    file: 'toolyard.config.json',
    writable: true,
    ...{ secrets: { enabled: true, names: [], uses: {} }, payloads: 'all', models: [], tools: ['a'], servers: [] },
    variables: { any: true, names: [] },
    commands: { allowed: true },
    providers: expect.arrayContaining([{ type: 'openai', variable: 'OPENAI_API_KEY', needs_key: true }]),
  })
  const secrets = [{ name: 'EXAMPLE_TOKEN', value: 'very-secret-value' }]
  const preview = await change({ kind: 'http_tool', tool: TOOL, secrets })
  expect(preview).toMatchObject({ status: 200, body: { written: false, secrets: [{ name: 'EXAMPLE_TOKEN' }] } })
  expect(preview.body.diff).toContain('+        "name": "get_user",')
  expect(await read()).toBe(EMPTY)
  const { base } = preview.body
  const { body } = await change({ kind: 'http_tool', tool: TOOL, secrets }, { write: true, base })
  expect(body).toMatchObject({ written: true, backup: expect.stringMatching(/^toolyard\.config\.json\.backup-\d/) })
  const text = await read()
  expect(text).toContain('\n      { "name": "a", "description": "A.", "parameters": { "type": "object" }')
  expect(JSON.parse(text).tools.registry[1]).toEqual(TOOL)
  expect(await readFile(join(home, body.backup), 'utf8')).toBe(EMPTY)
  expect(installation.manager.getRegistry().has('get_user')).toBe(true)
  expect((await ask('GET', '')).body.secrets.names).toEqual(['EXAMPLE_TOKEN'])
  const rows = await events()
  expect(rows.map(({ event }) => event)).toEqual(expect.arrayContaining(['config.changed', 'secret.set']))
  expect(JSON.stringify([rows, text, body])).not.toContain('very-secret-value')
})

test('shows a change without the values of its secrets, and does not write it', async () => {
  const { change, read } = await openSetup()
  const named = { kind: 'http_tool', tool: TOOL, secrets: [{ name: 'EXAMPLE_TOKEN' }] }
  expect(await change(named)).toMatchObject({ status: 200, body: { added: { tools: ['get_user'] }, written: false } })
  const { status, body } = await change(named, { write: true })
  expect([status, body.error]).toEqual([422, 'The value of the secret EXAMPLE_TOKEN is empty'])
  expect(await read()).toBe(EMPTY)
})

test('adds pasted MCP servers, and moves their secrets to the store', async () => {
  const { change, read, installation, ask } = await openSetup()
  const text = JSON.stringify({
    mcpServers: { files: { url: 'http://127.0.0.1:9/mcp', headers: { Authorization: 'Bearer 0123456789abc' } } },
  })
  const { status, body } = await change({ kind: 'mcp_servers', text }, { write: true })
  expect([status, body.written]).toEqual([200, true])
  expect(body.secrets).toEqual([{ name: 'FILES_AUTHORIZATION', place: 'mcpServers.files.headers.Authorization' }])
  const written = JSON.parse(await read()).mcpServers.files
  expect(written.headers).toEqual({ Authorization: '${secret:FILES_AUTHORIZATION}' })
  expect(installation.manager.getMcpServers().names).toEqual(['files'])
  const { reach } = installation.manager.getMcpServers().connection('files').settings
  expect(reach).toMatchObject({ headers: { Authorization: 'Bearer 0123456789abc' } })
  const again = await change({ kind: 'mcp_servers', text })
  expect([again.status, again.body.error]).toEqual([422, expect.stringContaining('already an MCP server files')])
  expect((await ask('DELETE', '/secrets/FILES_AUTHORIZATION')).status).toBe(422)
  expect((await ask('DELETE', '/secrets/nothing')).status).toBe(404)
})

test('tests MCP servers, and stays connected to none', async () => {
  const { ask, installation } = await openSetup()
  const mock = (name: string) => ({ ...TOOL, name, implementation: { type: 'mock', mock_response: 1 } })
  const other = await openTestServer(
    { tools: { enabled: true, registry: [mock('one'), mock('two')] } },
    { local: true },
  )
  onTestFinished(() => other.close())
  const { status, body } = await ask('POST', '/mcp-servers/test', {
    servers: {
      good: { url: `${other.url}/mcp` },
      bad: { url: 'http://127.0.0.1:9/mcp' },
      gone: { command: 'no-such-program-x' },
    },
  })
  expect(status).toBe(200)
  const [good, bad, gone] = ['good', 'bad', 'gone'].map((name) =>
    body.servers.find((one: { name: string }) => one.name === name),
  )
  expect(good).toMatchObject({ ok: true, transport: 'http', tools: [{ name: 'one' }, { name: 'two' }] })
  expect(bad).toMatchObject({ ok: false, tools: [], error: expect.any(String) })
  expect(gone).toMatchObject({ ok: false, transport: 'stdio', error: expect.any(String) })
  expect(installation.manager.getMcpServers().names).toEqual([])
  for (const entry of [{ url: 'x', command: ['sh'] }, { command: 'x', args: 'y' }, { url: 'ftp://x' }]) {
    expect((await ask('POST', '/mcp-servers/test', { servers: { entry } })).status).toBe(422)
  }
})

test('adds a provider with its models, and warns about a variable that is not set', async () => {
  const { change, read } = await openSetup({ text: '{}\n' })
  const api_key = { secret: { name: 'GROQ_KEY', value: 'gsk-0123456789' } }
  const base_url = 'https://api.groq.com/openai/v1'
  const provider = { kind: 'provider', name: 'groq', type: 'openai', base_url, api_key, models: [{ id: 'llama' }] }
  expect((await change(provider, { write: true })).body).toMatchObject({ written: true, warnings: [] })
  expect(JSON.parse(await read())).toEqual({
    providers: { groq: { type: 'openai', base_url, api_key: '${secret:GROQ_KEY}' } },
    models: [{ id: 'groq:llama', name: 'llama', capabilities: ['function-calling'] }],
  })
  const named = {
    kind: 'provider',
    name: 'anthropic',
    api_key: { variable: 'ANTHROPIC_API_KEY' },
    models: [{ id: 'x' }],
  }
  const { body } = await change(named, { write: true })
  expect(body.warnings).toEqual([expect.stringContaining('ANTHROPIC_API_KEY is not set')])
  // The entry is the usual one, which needs no text.
  expect(Object.keys(JSON.parse(await read()).providers)).toEqual(['groq'])
  expect((await change(provider)).body.error).toContain('already a provider groq')
  expect((await change({ kind: 'provider', name: 'mine' })).body.error).toContain(
    'Choose the type of the provider mine',
  )
})

const DOCUMENT = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: 'https://pets.example.com' }],
  security: [{ key: [] }],
  components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
  paths: {
    '/pets': {
      get: { operationId: 'listPets', summary: 'List pets' },
      post: { operationId: 'addPet', deprecated: true },
    },
    '/bad': { trace: { operationId: 'traceBad' } },
  },
})

test('adds the chosen operations of an OpenAPI document', async () => {
  const { ask, change, read, installation } = await openSetup()
  const { body: preview } = await ask('POST', '/openapi', { document: DOCUMENT })
  expect(preview).toMatchObject({ title: 'Pets', credentials: [{ hosts: ['pets.example.com'] }] })
  expect(preview.operations).toEqual([
    { name: 'addPet', method: 'POST', path: '/pets', summary: expect.any(String), effect: 'write', deprecated: true },
    { name: 'listPets', method: 'GET', path: '/pets', summary: 'List pets', effect: 'read', deprecated: false },
    expect.objectContaining({ method: 'TRACE', problem: expect.any(String) }),
  ])
  const chosen = { kind: 'openapi', document: DOCUMENT, operations: ['listPets'] }
  const without = await change(chosen)
  expect([without.status, without.body.error]).toEqual([422, expect.stringContaining('is not set')])
  const [{ variable }] = preview.credentials
  const credentials = { [variable]: { secret: { name: 'PETS', value: 'pets-token' } } }
  expect((await change({ ...chosen, credentials }, { write: true })).body).toMatchObject({ written: true })
  const [, tool] = JSON.parse(await read()).tools.registry
  expect(tool).toMatchObject({ name: 'listPets', implementation: { auth: { token: '${secret:PETS}' } } })
  expect(installation.manager.getRegistry().has('listPets')).toBe(true)
  expect((await change({ ...chosen, operations: ['nothing'] })).body.error).toContain('no operation "nothing"')
  expect((await ask('POST', '/openapi', { document: 'no: document' })).body.error).toContain('OpenAPI')
  expect((await ask('POST', '/openapi', { url: 'http://127.0.0.1:9/x' })).status).toBe(422)
  expect((await ask('POST', '/openapi', {})).status).toBe(400)
})

test('adds a collection, and stores files in it', async () => {
  const { ask, change, installation, url } = await openSetup()
  const { body } = await change({ kind: 'collection', name: 'manuals', description: 'our manuals' }, { write: true })
  expect(body).toMatchObject({ written: true })
  const file = {
    collection: 'manuals',
    name: 'kettle.md',
    content: Buffer.from('# Kettle\n\nBoils water.').toString('base64'),
  }
  expect((await ask('POST', '/documents', file)).body).toMatchObject({ chunks: 1, warnings: [] })
  const response = await fetch(`${url}/tools/execute`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tool_name: 'search_manuals', params: { query: 'kettle' } }),
  })
  expect(await response.json()).toMatchObject({ result: { results: [{ source: 'kettle.md' }] } })
  // Models don't get a tool that stores documents.
  expect(installation.manager.getRegistry().has('ingest_docs')).toBe(false)
  const image = { ...file, name: 'x.png', content: Buffer.from('\x89PNG\r\n\x1a\n\0\0').toString('base64') }
  expect((await ask('POST', '/documents', image)).status).toBe(422)
  expect((await change({ kind: 'collection', name: '../x' })).body.error).toContain('not a name for a collection')
})

test('takes the secrets of a curl command from the command', async () => {
  const { ask, change, read } = await openSetup()
  const command = `curl https://api.example.com/users/7 -H 'Authorization: Bearer top-secret-1'`
  const { body: proposed } = await ask('POST', '/curl', { command })
  expect(JSON.stringify(proposed)).not.toContain('top-secret-1')
  const { body } = await change({ kind: 'http_tool', tool: proposed.tool, command }, { write: true })
  expect(body).toMatchObject({ written: true, secrets: [{ name: 'EXAMPLE_TOKEN', place: 'get_users' }] })
  expect(await read()).toContain('${secret:EXAMPLE_TOKEN}')
  expect((await ask('POST', '/curl', { command: 'curl $(id)' })).status).toBe(422)
})

test('refuses a change that leaves something out, or that breaks the configuration', async () => {
  const { change, read, events } = await openSetup()
  const tools = [
    [{ ...TOOL, name: 'a' }, 'already used by tools.registry[0]'],
    [{ ...TOOL, implementation: { ...TOOL.implementation, url: 'https://x/{other}' } }, 'other'],
    [{ ...TOOL, implementation: { ...TOOL.implementation, metod: 'GET' } }, 'metod'],
    [{ ...TOOL, implementation: { type: 'mock' } }, 'of type "http"'],
    [{ ...TOOL, name: 'bad name' }, 'name'],
  ] as const
  const secrets = [{ name: 'EXAMPLE_TOKEN', value: 'value-of-it' }]
  for (const [tool, problem] of tools) {
    const { status, body } = await change({ kind: 'http_tool', tool, secrets }, { write: true })
    expect([status, body.error]).toEqual([422, expect.stringContaining(problem)])
    expect(body.error).not.toContain('/toolyard-setup-')
  }
  expect(await read()).toBe(EMPTY)
  const rows = (await events()).filter(({ event }) => event === 'config.changed')
  expect(rows).toHaveLength(tools.length)
  expect(rows[0]).toMatchObject({ subject: 'toolyard.config.json', detail: expect.stringContaining('"refused":422') })
})

test('applies a change to the file that its author has seen', async () => {
  const { change, file } = await openSetup()
  const provider = { kind: 'provider', name: 'ollama', models: [{ id: 'one' }] }
  const { base } = (await change(provider)).body
  await writeFile(file, EMPTY.replace('"A."', '"Another."'))
  const { status, body } = await change(provider, { write: true, base })
  expect([status, body.error]).toEqual([409, expect.stringContaining('has changed meanwhile')])
})

test('writes changes that arrive together one after the other', async () => {
  const { change, read, home } = await openSetup()
  const names = Array.from({ length: 8 }, (_, at) => `model-${at}`)
  const answers = await Promise.all(
    names.map((id) => change({ kind: 'provider', name: 'ollama', models: [{ id }] }, { write: true })),
  )
  expect(answers.map(({ body }) => body.written)).toEqual(names.map(() => true))
  const { models } = JSON.parse(await read())
  expect(models.map(({ name }: { name: string }) => name).sort()).toEqual(names)
  expect((await readdir(home)).filter((name) => name.includes('.backup-'))).toHaveLength(5)
  expect((await readdir(home)).filter((name) => name.includes('.next'))).toEqual([])
})

test('keeps the mode and the link of the file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-linked-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const target = join(folder, 'real.json')
  await writeFile(target, EMPTY, { mode: 0o640 })
  const file = join(folder, 'toolyard.config.json')
  await symlink('real.json', file)
  const { change } = await openSetup({ options: { file } })
  const { body } = await change({ kind: 'provider', name: 'ollama', models: [{ id: 'one' }] }, { write: true })
  expect(body).toMatchObject({ written: true, backup: expect.stringMatching(/^real\.json\.backup-/) })
  expect((await lstat(file)).isSymbolicLink()).toBe(true)
  expect((await stat(target)).mode & 0o777).toBe(0o640)
  expect((await stat(join(folder, body.backup))).mode & 0o777).toBe(0o640)
  expect(await readFile(target, 'utf8')).toContain('ollama:one')
})

test('shows a change to copy if the file is read-only, or there is none', async () => {
  const readOnly = await openSetup()
  await chmod(readOnly.file, 0o444)
  const secret = { kind: 'http_tool', tool: TOOL, secrets: [{ name: 'EXAMPLE_TOKEN', value: 'value-of-it' }] }
  const { body } = await readOnly.change(secret, { write: true })
  expect(body).toMatchObject({
    written: false,
    reason: expect.stringContaining('is read-only'),
    text: expect.any(String),
  })
  expect(JSON.parse(body.text).tools.registry).toEqual([TOOL])
  expect((await readOnly.ask('GET', '')).body).toMatchObject({ writable: false, secrets: { names: [] } })
  const [row] = (await readOnly.events()).filter(({ event }) => event === 'config.changed')
  expect(row?.detail).toContain('"written":false')

  const server = await openTestServer({}, { local: true })
  onTestFinished(() => server.close())
  const answer = await fetch(`${server.url}/api/setup`)
  expect(await answer.json()).toMatchObject({
    file: null,
    writable: false,
    reason: expect.stringContaining('not come from a file'),
  })
})

test('shows a change to copy if several servers share the store', async () => {
  const { change, installation, read } = await openSetup()
  const company = async () => ({ servers: 2, aloneMs: 0 })
  Object.assign(installation.storage, { leases: { lease: async () => [], company } })
  const { body } = await change({ kind: 'provider', name: 'ollama', models: [{ id: 'one' }] }, { write: true })
  expect(body).toMatchObject({ written: false, reason: expect.stringContaining('2 servers share this installation') })
  expect(await read()).toBe(EMPTY)
})

test('creates the file if the server uses the shipped configuration', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-new-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const setupFile = join(folder, 'toolyard.config.json')
  const text = `{\n  "$schema": "./toolyard.config.schema.json",\n${EMPTY.slice(2)}`
  const { change, ask, read, installation } = await openSetup({ text, options: { setupFile } })
  expect((await ask('GET', '')).body).toMatchObject({ creates: true, writable: true })
  const { body } = await change({ kind: 'provider', name: 'ollama', models: [{ id: 'one' }] }, { write: true })
  expect(body).toMatchObject({ written: true })
  expect(body.backup).toBeUndefined()
  expect(body.warnings).toEqual(['The server creates toolyard.config.json with the configuration that it uses now.'])
  expect(body.diff).not.toContain('+    "enabled"')
  const created = await readFile(setupFile, 'utf8')
  expect(JSON.parse(created)).toMatchObject({ models: [{ id: 'ollama:one' }], tools: { registry: [{ name: 'a' }] } })
  expect(created).not.toContain('$schema')
  expect(await read()).toBe(text)
  expect(installation.files.read).toBe(setupFile)
  expect((await ask('GET', '')).body.creates).toBeUndefined()
})

test('stores no secret without an encryption key', async () => {
  const { change, ask } = await openSetup({ options: { env: { TOOLYARD_ENCRYPTION_KEY: '' } } })
  const secrets = [{ name: 'EXAMPLE_TOKEN', value: 'value-of-it' }]
  const { status, body } = await change({ kind: 'http_tool', tool: TOOL, secrets }, { write: true })
  expect([status, body.error]).toEqual([422, expect.stringContaining('TOOLYARD_ENCRYPTION_KEY')])
  expect((await ask('GET', '')).body.secrets).toMatchObject({
    enabled: false,
    reason: expect.stringContaining('openssl'),
  })
})

describe('on a server with keys', () => {
  const COMMAND = { kind: 'mcp_servers', servers: { x: { command: 'true' } } }

  test('needs the scope installation', async () => {
    const { change, key } = await openSetup()
    const [admin, owner] = [await key('acme', 'admin'), await key('acme', 'admin', ['installation'])]
    const provider = { kind: 'provider', name: 'ollama', models: [{ id: 'one' }] }
    expect((await change(provider)).status).toBe(401)
    expect((await change(provider, {}, admin)).status).toBe(403)
    expect((await change(provider, {}, owner)).status).toBe(200)
  })

  test('runs no command unless the operator allows it', async () => {
    const { change, key, ask, file, installation } = await openSetup()
    const owner = await key('acme', 'admin', ['installation'])
    const { status, body } = await change(COMMAND, {}, owner)
    expect([status, body.error]).toEqual([422, expect.stringContaining('allow_commands')])
    for (const command of ['true', '', ['true'], null]) {
      const servers = { x: { command, url: 'https://192.0.2.1/mcp' } }
      expect((await ask('POST', '/mcp-servers/test', { servers }, owner)).body.error).toContain('allow_commands')
    }
    await writeFile(file, JSON.stringify({ page: { allow_commands: true } }))
    await installation.reload()
    expect((await change(COMMAND, {}, owner)).status).toBe(200)
  })

  test('names no variable unless the operator allows it', async () => {
    const { change, key, file, installation } = await openSetup({
      options: { env: { OTHER: 'value', OPENAI_API_KEY: 'x' } },
    })
    const owner = await key('acme', 'admin', ['installation'])
    const provider = (variable: string, more: object = {}) =>
      change({ kind: 'provider', name: 'openai', api_key: { variable }, models: [{ id: 'x' }], ...more }, {}, owner)
    expect((await provider('OPENAI_API_KEY')).status).toBe(200)
    const elsewhere = { base_url: 'https://elsewhere.example.com' }
    expect((await provider('OPENAI_API_KEY', elsewhere)).body.error).toContain(
      "The variable OPENAI_API_KEY can't be used",
    )
    expect((await provider('OPENAI_API_KEY', { type: 'anthropic' })).status).toBe(422)
    expect((await provider('OTHER')).body.error).toContain('page.variables')
    expect((await provider('TOOLYARD_ENCRYPTION_KEY')).body.error).toContain('variables of Toolyard itself')
    const server = { kind: 'mcp_servers', servers: { x: { url: 'https://192.0.2.1/mcp', headers: { a: '${OTHER}' } } } }
    expect((await change(server, {}, owner)).status).toBe(422)
    await writeFile(file, JSON.stringify({ page: { variables: ['OTHER'] } }))
    await installation.reload()
    expect((await provider('OTHER')).status).toBe(200)
  })

  test('reaches no private address', async () => {
    const { change, key, ask } = await openSetup()
    const owner = await key('acme', 'admin', ['installation'])
    const servers = { x: { url: 'http://169.254.169.254/mcp' }, y: { url: 'http://localhost:9/mcp' } }
    const { body } = await ask('POST', '/mcp-servers/test', { servers }, owner)
    for (const { error } of body.servers) expect(error).toContain('was refused')
    const { status, body: written } = await change({ kind: 'mcp_servers', servers }, { write: true }, owner)
    expect([status, written.error]).toEqual([422, expect.stringContaining('http.allow_private')])
    const provider = { kind: 'provider', name: 'ollama', base_url: 'http://10.0.0.1' }
    expect((await change(provider, {}, owner)).status).toBe(422)
  })

  test('reaches no private address in a secret or in a default', async () => {
    const { change, key } = await openSetup({
      text: JSON.stringify({ page: { variables: ['UNSET', 'LAST'] } }),
      options: { env: { LAST: '1' } },
    })
    const owner = await key('acme', 'admin', ['installation'])
    const secrets = [{ name: 'PLACE', value: 'http://127.0.0.1:9/mcp' }]
    for (const [entry, more] of [
      [{ url: '${secret:PLACE}' }, { secrets }],
      [{ url: '${secret:PLACE}', disabled: true }, { secrets }],
      [{ url: 'http://127.0.0.1:9/mcp?api_key=sk-abcdefghijklmnopqrstuvwx123456' }, {}],
      [{ url: 'http://${UNSET:-127.0.0.1}:9/' }, {}],
    ] as const) {
      const answer = await change({ kind: 'mcp_servers', servers: { x: entry }, ...more }, { write: true }, owner)
      expect([entry, answer.body.error]).toEqual([entry, expect.stringContaining("The host '127.0.0.1' was refused")])
    }
    const provider = { kind: 'provider', name: 'ollama', base_url: 'http://127.0.0.${LAST}/' }
    expect((await change(provider, {}, owner)).body.error).toContain("The host '127.0.0.1' was refused")
  })

  test('sends no variable of the server to the host of an OpenAPI document', async () => {
    const { change, key } = await openSetup({ options: { env: { SLACK_BOT_TOKEN: 'value-of-it' } } })
    const owner = await key('acme', 'admin', ['installation'])
    const document = JSON.stringify({
      ...{ openapi: '3.0.0', info: { title: 'T', version: '1' }, servers: [{ url: 'https://slack.bot' }] },
      ...{ security: [{ k: [] }], components: { securitySchemes: { k: { type: 'http', scheme: 'bearer' } } } },
      paths: { '/x': { get: { operationId: 'get_x', responses: {} } } },
    })
    expect((await change({ kind: 'openapi', document, operations: ['get_x'] }, {}, owner)).body.error).toContain(
      "The variable SLACK_BOT_TOKEN can't be used",
    )
  })
})

test('refuses bodies of a wrong form', async () => {
  const { ask, url, change } = await openSetup()
  for (const body of [
    {},
    { change: { kind: 'nothing' } },
    { change: { kind: 'provider' } },
    { change: { kind: 'provider', name: 'a/../b' } },
    { change: { kind: 'mcp_servers' } },
    { change: { kind: 'mcp_servers', text: 'x', servers: {} } },
    { change: { kind: 'collection', name: 'x', more: 1 } },
    { change: { kind: 'provider', name: 'x', api_key: {} } },
  ]) {
    expect([body, (await ask('POST', '/changes', body)).status]).toEqual([body, 400])
  }
  const proto = await fetch(`${url}/api/setup/changes`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"change": {"kind": "mcp_servers", "servers": {"__proto__": {"url": "http://a"}}}}',
  })
  expect(proto.status).toBe(422)
  const long = { kind: 'mcp_servers', servers: { x: { url: `http://127.0.0.1/${'x'.repeat(70_000)}` } } }
  expect((await change(long)).status).toBe(422)
})

test('takes everything back if the server cannot load the new configuration', async () => {
  const { change, read, installation, home, ask } = await openSetup()
  const { reload } = installation
  installation.reload = () => Promise.reject(new ConfigError('it broke'))
  const secrets = [{ name: 'EXAMPLE_TOKEN', value: 'value-of-it' }]
  const { status, body } = await change({ kind: 'http_tool', tool: TOOL, secrets }, { write: true })
  installation.reload = reload
  expect([status, body.error]).toEqual([422, 'it broke'])
  expect(await read()).toBe(EMPTY)
  expect(await readdir(home)).toEqual(['toolyard.config.json'])
  expect((await ask('GET', '')).body.secrets.names).toEqual([])
})
