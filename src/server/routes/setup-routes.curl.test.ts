import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openTestServer } from '../fixtures/open-server.ts'

const WEATHER = {
  name: 'get_weather',
  description: 'Get the weather.',
  parameters: { type: 'object' },
  implementation: { type: 'mock', mock_response: 1 },
}

/** A server without keys that has the tool `get_weather`. */
async function openSetup() {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-setup-curl-'))
  const file = join(folder, 'toolyard.config.json')
  await writeFile(file, JSON.stringify({ tools: { enabled: true, registry: [WEATHER] } }))
  const server = await openTestServer({}, { file, local: true })
  onTestFinished(async () => {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  })
  return async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${server.url}/api/setup${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    return { status: answer.status, body: JSON.parse(await answer.text()) }
  }
}

test('proposes a name that no tool has', async () => {
  const post = await openSetup()
  const { body } = await post('/curl', { command: 'curl https://api.example.com/weather' })
  expect(body.tool.name).toBe('get_weather_2')
})

test('warns about a tool that the network policy blocks', async () => {
  const post = await openSetup()
  const implementation = { type: 'http', method: 'GET', url: 'http://127.0.0.1:9/weather' }
  const tool = { ...WEATHER, name: 'local_weather', implementation }
  const { status, body } = await post('/changes', { change: { kind: 'http_tool', tool } })
  const warning = /^The tool local_weather cannot be called yet: .*http\.allow_private/
  expect([status, body.warnings]).toEqual([200, [expect.stringMatching(warning)]])
})

const onPort = (name: string, url: string) => ({
  ...WEATHER,
  name,
  implementation: { type: 'http', method: 'GET', url },
})

test('allows a private host of a tool if the change says so, and no other', async () => {
  const post = await openSetup()
  const change = { kind: 'http_tool', tool: onPort('local_weather', 'http://127.0.0.1:9/weather') }
  const { body: without } = await post('/changes', { change })
  expect(without.private_hosts).toEqual([{ host: '127.0.0.1', addresses: ['127.0.0.1'] }])
  expect(without.diff).not.toContain('allow_private')
  const allowing = { ...change, allow_private: ['127.0.0.1'] }
  const { body: shown } = await post('/changes', { change: allowing })
  expect(shown).toMatchObject({ warnings: [], added: { settings: ['http.allow_private: 127.0.0.1'] } })
  expect(shown.diff).toContain('"http": { "allow_private": ["127.0.0.1"] }')
  expect(JSON.parse(shown.text).http).toEqual({ allow_private: ['127.0.0.1'] })
  for (const address of ['127.0.0.2', '10.0.0.0/8', '::1', '169.254.169.254']) {
    const other = await post('/changes', { change: { ...change, allow_private: [address] } })
    expect([other.status, other.body.error]).toEqual([
      422,
      expect.stringContaining(`"${address}" can't be allowed here`),
    ])
  }
  const { body: written } = await post('/changes', { change: allowing, write: true, base: shown.base })
  expect(written.written).toBe(true)
  // What is allowed isn't offered again.
  const { body: next } = await post('/changes', {
    change: { kind: 'http_tool', tool: onPort('more_weather', 'http://127.0.0.1:9/more') },
  })
  expect(next).toMatchObject({ warnings: [], private_hosts: [] })
})

test('offers the addresses of localhost, and those of a cloud not', async () => {
  const post = await openSetup()
  const { body } = await post('/changes', {
    change: { kind: 'http_tool', tool: onPort('local_weather', 'http://localhost:9/weather') },
  })
  expect(body.private_hosts).toEqual([{ host: 'localhost', addresses: expect.arrayContaining(['127.0.0.1']) }])
  expect(body.warnings).toEqual([expect.stringContaining("Tools cannot reach the host 'localhost' yet")])
  for (const url of [
    'http://169.254.169.254/',
    'http://[fd00:ec2::254]/',
    'http://0.0.0.0/',
    'https://api.example.com/',
  ]) {
    const other = await post('/changes', { change: { kind: 'http_tool', tool: onPort('odd', url) } })
    expect(other.body.private_hosts).toEqual([])
  }
})

test('reads an OpenAPI document on this machine, and allows the host of its operations', async () => {
  const post = await openSetup()
  const document = {
    openapi: '3.1.0',
    info: { title: 'Local', version: '1' },
    paths: { '/things': { get: { operationId: 'list_things', responses: { 200: { description: 'Things' } } } } },
  }
  const service = createServer((_, response) => response.end(JSON.stringify(document)))
  await once(service.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void service.close())
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/openapi.json`
  const { body } = await post('/openapi', { url })
  expect(body.operations).toMatchObject([{ name: 'list_things' }])
  const change = { kind: 'openapi', url, operations: ['list_things'] }
  expect((await post('/changes', { change })).body.private_hosts).toMatchObject([{ host: '127.0.0.1' }])
  const { body: shown } = await post('/changes', { change: { ...change, allow_private: ['127.0.0.1'] } })
  expect(shown.diff).toContain('"allow_private": ["127.0.0.1"]')
})
