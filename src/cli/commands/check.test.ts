import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { emptyFolder, folder, mock, toolyard } from '../fixtures/toolyard.ts'

afterAll(emptyFolder)

const KEY = 'sk-abcdefghijklmnopqrstuvwxyz0123456789'

async function write(config: object): Promise<string> {
  const file = join(folder, 'check.json')
  await writeFile(file, JSON.stringify(config))
  return file
}

const FAULTY = {
  tools: {
    enabled: true,
    registry: [mock('get_weather', 1), { ...mock('own', 1), implementation: { type: 'internal', handler: 'gone' } }],
  },
  providers: { openai: { api_key: KEY } },
  responses: [
    {
      llm: 'anthropic',
      model: 'claude',
      prompt: '{{user_mesage}}',
      tools: { enabled: true, allowed_tools: ['get_wether'] },
    },
  ],
  mcpServers: { notes: { url: 'https://notes.example/${NOT_SET}' } },
  approvals: { webhook: { url: 'https://hooks.example', secret: '${NO_SECRET}' } },
}

test('S6 S7 reports keys, prompts, allowed tools, MCP servers and broken tools', async () => {
  const file = await write(FAULTY)
  const { code, out, err } = await toolyard(['check', '--config', file])
  expect(code).toBe(1)
  expect(out).toContain("Error: own: Internal handler 'gone' not found\n")
  expect(out).toContain("Warning: responses[0].prompt: '{{user_mesage}}' is empty")
  expect(out).toContain("did you mean '{{user_message}}'?")
  expect(out).toContain('Warning: approvals.webhook: The environment variable NO_SECRET is not set\n')
  expect(out).toContain('Warning: providers.openai.api_key: It contains a secret')
  expect(out).toContain('ANTHROPIC_API_KEY is not set')
  expect(out).toContain("allowed_tools[0]: There is no tool 'get_wether': did you mean 'get_weather'?")
  expect(out).toMatch(/Warning: mcpServers\.notes: .*NOT_SET/)
  expect(out + err).not.toContain(KEY)
  const json = await toolyard(['check', '--json', '--config', file])
  expect(json.code).toBe(1)
  const { findings } = JSON.parse(json.out)
  expect(findings[0]).toEqual({ level: 'error', place: 'own', problem: "Internal handler 'gone' not found" })
  expect(findings).toHaveLength(out.trimEnd().split('\n').length)
  const tools = await toolyard(['tools', '--check', '--config', file])
  expect(tools.code).toBe(1)
  expect(tools.err).toContain('It contains a secret')
})

test('S7 reports a rule that uses tools while they are disabled', async () => {
  const tools = { enabled: true, allowed_tools: ['get_weather'] }
  const file = await write({ responses: [{ llm: 'mini', model: 'v1', prompt: 'p', tools }] })
  const { out } = await toolyard(['check', '--config', file])
  expect(out).toBe(
    'Warning: responses[0].tools: The rule uses tools, but they are disabled: set "tools": {"enabled": true} in the configuration\n',
  )
})

test.each<[config: object, what: string]>([
  [{ tools: { registry: [mock('one', 1)] } }, '1 tool'],
  [{ tools: { registry: [mock('one', 1), mock('two', 2)] } }, '2 tools'],
  [{ mcpServers: { notes: { url: 'http://127.0.0.1:9/mcp' } } }, '1 MCP server'],
  [{ tools: { registry: [mock('one', 1)], code_mode: { enabled: true } } }, '1 tool and code mode'],
])('reports that nothing of %j is served', async (config, what) => {
  const { code, out, err } = await toolyard(['check', '--config', await write(config)])
  expect(out).toBe(`Error: tools.enabled: Toolyard doesn't serve ${what}: add "enabled": true to tools\n`)
  expect(err).toContain('1 problem.')
  expect(code).toBe(1)
})

test('tools that are disabled on purpose are a warning, and no tools none', async () => {
  const off = await write({ tools: { enabled: false, registry: [mock('one', 1)] } })
  const { code, out } = await toolyard(['check', '--config', off])
  expect([code, out]).toEqual([
    0,
    `Warning: tools.enabled: Toolyard doesn't serve 1 tool: "enabled" is false in tools\n`,
  ])
  const none = await write({ mcpServers: { notes: { url: 'http://127.0.0.1:9/mcp', disabled: true } } })
  expect(await toolyard(['check', '--config', none])).toMatchObject({ code: 0, out: '' })
})

test('warnings fail with --strict only, and the shipped configuration has none', async () => {
  const file = await write({
    tools: { enabled: true, registry: [] },
    responses: [{ ...FAULTY.responses[0], tools: {} }],
  })
  expect((await toolyard(['check', '--config', file])).code).toBe(0)
  expect((await toolyard(['check', '--strict', '--config', file])).code).toBe(1)
  const shipped = await toolyard(['check', '--strict'])
  expect(shipped).toMatchObject({ code: 0, out: '' })
  expect(shipped.err).toMatch(/^Checked the configuration with \d+ tools: no problems\.$/m)
})

test('accepts tools that use accounts of users, if there is an encryption key', async () => {
  const hub = { authorization_url: 'https://hub.example/a', token_url: 'https://hub.example/t', client_id: 'me' }
  const auth = { type: 'user_oauth', provider: 'hub' }
  const file = await write({
    server: { public_url: 'https://tools.example' },
    connections: { hub: { ...hub, hosts: ['api.hub.example'], scopes: [] } },
    tools: {
      enabled: true,
      registry: [{ ...mock('me', 1), implementation: { type: 'http', url: 'https://api.hub.example/me', auth } }],
    },
  })
  const env = { TOOLYARD_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') }
  expect(await toolyard(['check', '--strict', '--config', file], { env })).toMatchObject({ code: 0, out: '' })
  expect((await toolyard(['check', '--config', file])).out).toContain('Error: me: Connections need an encryption key')
  const short = { TOOLYARD_ENCRYPTION_KEY: 'short' }
  expect((await toolyard(['check', '--config', file], { env: short })).out).toContain('openssl rand -base64 32')
})

test('reports rollouts of missing tools and versions, and of deprecated versions', async () => {
  const greet = (version: string, more: object = {}) => ({
    name: 'greet',
    version,
    description: 'Greets.',
    parameters: { type: 'object' },
    implementation: { type: 'mock', mock_response: version },
    ...more,
  })
  const old = (name: string) => ({ ...greet('1.0.0', { deprecated: {} }), name })
  const file = await write({
    tools: {
      enabled: true,
      registry: [greet('1.0.0'), greet('2.0.0'), old('old')],
      rollout: {
        greet: { current: '1.0.0', candidate: '3.0.0' },
        gret: { current: '1.0.0' },
        old: { current: '1.0.0' },
      },
    },
  })
  const { out } = await toolyard(['check', '--config', file])
  expect(out).toContain("tools.rollout.greet: There is no version '3.0.0', only 1.0.0, 2.0.0")
  expect(out).toContain("tools.rollout.gret: There is no tool 'gret'")
  expect(out).toContain("tools.rollout.old: Version 1.0.0 is current and deprecated: models aren't offered it")
})
