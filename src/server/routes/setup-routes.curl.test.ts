import { mkdtemp, rm, writeFile } from 'node:fs/promises'
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
