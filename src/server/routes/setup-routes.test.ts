import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
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
  readonly options?: TestServerOptions & { readonly setupFile?: string }
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
    return (await response.json()).rows as { event: string; detail: string; subject: string; status: string }[]
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
    secrets: { enabled: true, names: [] },
    variables: { any: true, names: [] },
    commands: { allowed: true },
    providers: expect.arrayContaining([{ type: 'openai', variable: 'OPENAI_API_KEY', needs_key: true }]),
  })
  const secrets = [{ name: 'EXAMPLE_TOKEN', value: 'very-secret-value' }]
  const preview = await change({ kind: 'http_tool', tool: TOOL, secrets })
  expect(preview).toMatchObject({ status: 200, body: { written: false, secrets: [{ name: 'EXAMPLE_TOKEN' }] } })
  expect(preview.body.diff).toContain('+        "name": "get_user"')
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
