import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Config } from '../../config/config.ts'
import { ConfigError, loadConfigFile } from '../../config/load-config.ts'
import { serveHttp } from '../../mcp/server/fixtures/serve-http.ts'
import { ToolServer } from '../../mcp/server/tool-server.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import type { Parts } from './assemble.ts'
import { ToolManager } from './tool-manager.ts'

const open: ToolManager[] = []
afterAll(() => Promise.all(open.map((manager) => manager.close())))

function manage(config: Config, parts: Parts = {}) {
  const log = captureLog()
  const manager = new ToolManager(config, { log, env: {}, ...parts })
  open.push(manager)
  return { manager, log }
}

const mock = (name: string, rest: object = {}) => ({
  name,
  description: `The tool ${name}.`,
  parameters: { type: 'object', properties: {} },
  implementation: { type: 'mock', mock_response: name },
  ...rest,
})

const { implementation: _, ...bare } = mock('bad')

describe('loading definitions', () => {
  test.each<[string, unknown, string]>([
    ['no name', { description: 'x' }, 'Tool must have name and description'],
    ['no object schema', mock('bad', { parameters: {} }), 'Tool parameters must be an object schema'],
    ['an older Zod schema', { name: 'bad', description: 'x', parameters: { _def: {} } }, 'not a schema of zod'],
    ['no implementation', bare, "missing 'implementation'"],
    ['no type', mock('bad', { implementation: {} }), "missing 'implementation.type'"],
    [
      'a mock case without a response',
      mock('bad', { implementation: { type: 'mock', mock_response: 1, cases: [{ when: {} }] } }),
      "missing 'cases[0].mock_response'",
    ],
    ['a dotted name', mock('text.summarize'), 'name must match'],
    ['a deadline of 0', mock('bad', { timeout_ms: 0 }), 'timeout_ms must be'],
    ['an unknown effect', mock('bad', { effect: 'maybe' }), 'effect must be one of: read, idempotent, write'],
    ['a rate limit without a window', mock('bad', { rate_limit: { calls: 1 } }), "missing 'rate_limit.per_ms'"],
    ['a number', 7, 'Tool must have name and description'],
    [
      'a variable that is only inherited',
      mock('bad', { implementation: { type: 'http', url: 'https://x.test/${constructor}' } }),
      'constructor',
    ],
    [
      'a missing variable',
      mock('bad', { implementation: { type: 'http', url: 'https://x.test/${NOT_SET}' } }),
      'NOT_SET',
    ],
  ])('skips a definition with %s and loads the others', async (_, definition, problem) => {
    const { manager, log } = manage({ tools: { enabled: true, registry: [mock('first'), definition, mock('last')] } })
    const report = await manager.loadTools()
    expect(report.loaded).toEqual(['first', 'last'])
    expect(report.skipped).toHaveLength(1)
    expect(report.skipped[0]?.problem).toContain(problem)
    expect(log.lines).toMatchObject([{ level: 'warn', fields: { place: 'tools.registry[1]' } }])
    expect(manager.getRegistry().list()).toHaveLength(2)
  })

  test('completes a definition without a description and parameters, with warnings', async () => {
    const mapped = { type: 'http', url: 'https://x.test/{city}/weather', params_mapping: { maxResults: 'limit' } }
    const registry = [
      { name: 'get_weather', implementation: mapped },
      { name: 'listAll', implementation: { type: 'mock', mock_response: 1 } },
    ]
    const { manager } = manage({ tools: { enabled: true, registry } })
    const { loaded, warnings } = await manager.loadTools()
    expect(loaded).toEqual(['get_weather', 'listAll'])
    const [weather, list] = manager.getRegistry().definitions()
    expect(weather).toMatchObject({ description: 'Get weather', parameters: { required: ['city'] } })
    expect(Object.keys(weather?.parameters.properties ?? {})).toEqual(['city', 'maxResults'])
    expect(list).toMatchObject({ description: 'List all', parameters: { type: 'object', properties: {} } })
    expect(warnings.map(({ problem }) => problem)).toEqual([
      'It has no description: models see "Get weather". Say what the tool does and when to use it',
      'It has no parameters: it takes city, maxResults. Add a JSON Schema',
      'It has no description: models see "List all". Say what the tool does and when to use it',
      'It has no parameters: it takes none. Add a JSON Schema',
    ])
  })

  test('skips a duplicate name and reports both places', async () => {
    const { manager } = manage({
      tools: { enabled: true, registry: [mock('one'), mock('two'), mock('one', { description: 'other' })] },
    })
    const { skipped } = await manager.loadTools()
    expect(skipped[0]?.problem).toContain('tools.registry[2]')
    expect(skipped[0]?.problem).toContain('tools.registry[0]')
    expect(manager.getRegistry().get('one')?.description).toBe('The tool one.')
  })

  test('accepts a ${VAR} that is set or in a mock response', async () => {
    const { manager } = manage(
      {
        tools: {
          enabled: true,
          registry: [
            mock('http', { implementation: { type: 'http', url: 'https://x.test/${SET}' } }),
            mock('mock', { implementation: { type: 'mock', mock_response: '${NOT_SET}' } }),
          ],
        },
      },
      { env: { SET: 'yes' } },
    )
    expect((await manager.loadTools()).loaded).toEqual(['http', 'mock'])
  })

  test("warns about a cache on a tool that isn't read", async () => {
    const { manager } = manage({
      tools: { enabled: true, registry: [mock('one', { effect: 'write', cache: { ttl_ms: 1_000 } })] },
    })
    expect((await manager.loadTools()).warnings).toMatchObject([
      { name: 'one', problem: expect.stringContaining('effect') },
    ])
  })

  test.each([
    [{ permission: ['admin'] }, "unknown key 'permission': did you mean 'permissions'?"],
    [{ permisions: ['admin'] }, "unknown key 'permisions': did you mean 'permissions'?"],
    [{ rate_limits: { calls: 1, per_ms: 1 } }, "unknown key 'rate_limits': did you mean 'rate_limit'?"],
    [{ owner: 'us' }, `unknown key 'owner': remove it, or start its name with "x-"`],
    [
      { implementation: { type: 'http', url: 'https://a.test/', alowed_domains: ['a.test'] } },
      "unknown key 'implementation.alowed_domains': did you mean 'allowed_domains'?",
    ],
    [
      { implementation: { type: 'mcp', server: 'a', tol: 'b' } },
      "unknown key 'implementation.tol': did you mean 'tool'?",
    ],
  ])('skips a definition with an unknown key: %j', async (keys, problem) => {
    const { manager } = manage({ tools: { enabled: true, registry: [mock('one', keys), mock('two')] } })
    const report = await manager.loadTools()
    expect(report.skipped).toEqual([{ name: 'one', problem }])
    expect(report.loaded).toEqual(['two'])
  })

  test('loads a definition with keys that start with x-', async () => {
    const { manager } = manage({ tools: { enabled: true, registry: [mock('one', { 'x-owner': 'us' })] } })
    expect(await manager.loadTools()).toMatchObject({ loaded: ['one'], warnings: [] })
  })

  test.each([
    { type: 'mock', mock_response: 1 },
    { type: 'http', url: 'https://a.test/' },
    { type: 'mcp', server: 'a', tool: 'b' },
  ])('loads a definition that returns content of MCP: %j', async (kind) => {
    const implementation = { ...kind, returns: 'mcp_content' }
    const { manager } = manage({ tools: { enabled: true, registry: [mock('one', { implementation })] } })
    expect(await manager.loadTools()).toMatchObject({ loaded: ['one'], skipped: [] })
  })

  test('loading again changes and logs nothing', async () => {
    const { manager, log } = manage({ tools: { enabled: true, registry: [mock('one'), {}] } })
    const first = await manager.loadTools()
    const lines = log.lines.length
    expect(await manager.loadTools()).toBe(first)
    expect(log.lines).toHaveLength(lines)
  })
})

describe('the configuration as a whole', () => {
  test.each<[unknown, string]>([
    [{ toolz: {} }, "unknown key 'toolz': did you mean 'tools'?"],
    [{ tools: { max_iteration: 3 } }, "unknown key 'tools.max_iteration': did you mean 'max_iterations'?"],
    [{ tools: { default_timeout_ms: 'soon' } }, 'tools.default_timeout_ms must be an integer'],
    [{ tools: { enabled: 'yes' } }, 'tools.enabled must be a boolean'],
    [[], 'the configuration must be an object'],
  ])('refuses %j with its path and a fix', (config, message) => {
    expect(() => new ToolManager(config as Config)).toThrow(ConfigError)
    expect(() => new ToolManager(config as Config)).toThrow(message)
  })

  test('defaults', () => {
    const { manager } = manage({})
    expect([manager.isEnabled(), manager.getMaxIterations(), manager.getDefaultTimeout()]).toEqual([false, 5, 30_000])
  })
})

describe('loadConfigFile', () => {
  const write = async (text: string) => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-config-'))
    const file = join(folder, 'toolyard.config.json')
    await writeFile(file, text)
    return { file, done: () => rm(folder, { recursive: true }) }
  }

  test('reads a file, with or without a byte order mark', async () => {
    const { file, done } = await write('\uFEFF{"tools": {"enabled": true}}')
    expect(await loadConfigFile(file)).toEqual({ config: { tools: { enabled: true } } })
    await done()
  })

  test.each([
    ['{"tools": }', 'not valid JSON'],
    ['{"tools": {"enabled": 1}}', 'tools.enabled must be a boolean'],
  ])('reports the file and the problem: %s', async (text, message) => {
    const { file, done } = await write(text)
    const problem = await loadConfigFile(file).catch((error: unknown) => error)
    expect(problem).toBeInstanceOf(ConfigError)
    expect(String(problem)).toContain(file)
    expect(String(problem)).toContain(message)
    await done()
  })

  test('reports a missing file', async () => {
    await expect(loadConfigFile('/nowhere/x.json')).rejects.toThrow(
      '/nowhere/x.json: there is no such file. Name another',
    )
  })
})

test('callers of the server get models that the configuration names, and any of providers that offer all', async () => {
  const openai = { base_url: 'http://127.0.0.1:1', api_key: '${KEY}' }
  const config: Config = {
    providers: {
      openai,
      open: { ...openai, type: 'openai', any_model: true },
      closed: { type: 'ollama', any_model: false },
    },
    models: [{ id: 'openai:listed', name: 'Listed', capabilities: [] }],
    responses: [{ llm: 'openai', model: 'of-a-rule', prompt: 'Be brief.' }],
    knowledge: { model: 'openai:of-knowledge' },
  }
  const manager = new ToolManager(config, { log: captureLog(), env: { KEY: 'k' } })
  const models = await manager.getModels()
  const isRefused = (id: string) => {
    try {
      models.get(id, ['*'])
      return false
    } catch (error) {
      return (error as Error).message.includes('is not configured')
    }
  }
  const allowed = ['openai:listed', 'openai:of-a-rule', 'openai:of-knowledge', 'open:any', 'mini:v1', 'mini:v0']
  expect(allowed.filter(isRefused)).toEqual([])
  expect(['openai:other', 'closed:any'].filter(isRefused)).toEqual(['openai:other', 'closed:any'])
  await manager.close()
})

test('reports tools that call others and are still broken once MCP servers have connected, and only those', async () => {
  const { manager: served } = manage({ tools: { enabled: true, registry: [mock('far_tool')] } })
  await served.loadTools()
  const server = new ToolServer({ registry: served.getRegistry(), executor: served.getExecutor(), version: '1' })
  const service = await serveHttp(server, { port: 0 })
  onTestFinished(() => service.close())
  const pipeline = (name: string, tool: string) =>
    mock(name, { implementation: { type: 'pipeline', steps: [{ id: 'a', tool }] } })
  const registry = [pipeline('works', 'far_tool'), pipeline('broken', 'far_tol'), mock('near')]
  const { manager, log } = manage({ tools: { enabled: true, registry }, mcpServers: { far: { url: service.url } } })
  expect((await manager.loadTools()).warnings).toEqual([])
  const warned = () =>
    log.lines.filter(({ level, fields }) => level === 'warn' && 'tool' in fields).map(({ fields }) => fields)
  await vi.waitFor(() => expect(warned()).not.toEqual([]), { timeout: 30_000 })
  expect(warned()).toMatchObject([
    { tool: 'broken', problem: "Step 'a' calls the unknown tool 'far_tol'. Did you mean 'far_tool'?" },
  ])
  expect(await manager.getExecutor().execute('works', {})).toMatchObject({ result: 'far_tool' })
})
