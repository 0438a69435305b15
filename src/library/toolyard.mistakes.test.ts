import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { CONFIG_SCHEMA, type Config } from '../config/config.ts'
import { hostileServer } from '../mcp/fixtures/connect.ts'
import { captureLog } from '../testing/stand-ins.ts'
import { createToolyard } from './configured.ts'
import { idleSettings } from './idle-settings.ts'
import { tool } from './tool.ts'
import { createToolyard as createLight } from './toolyard.ts'

const description = 'A tool.'
const parameters = { type: 'object' } as const
const look = tool({ name: 'look', description, input: parameters, execute: () => 'seen' })
const mock = (name: string, more: object = {}) => ({
  ...{ name, description, parameters, implementation: { type: 'mock', mock_response: name } },
  ...more,
})
const pipeline = (name: string, callee: string) =>
  mock(name, { implementation: { type: 'pipeline', steps: [{ id: 'one', tool: callee }] } })

async function messageOf(created: Promise<AsyncDisposable>): Promise<string> {
  const error = await created.then(
    (yard) => yard[Symbol.asyncDispose]().then(() => undefined),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(TypeError)
  return (error as Error).message
}

describe('mistakes in tools', () => {
  const tools = [
    look,
    look,
    mock('typo', { permision: ['admin'] }),
    mock('late', { timeout_ms: Number.NaN }),
    mock('odd', { implementation: { type: 'mocked' } }),
    mock('sound'),
  ]
  const problems = [
    "There are two tools 'look': rename one of them, or give it another version",
    `Tool 'typo': unknown option "permision". Did you mean "permissions"?`,
    "Tool 'late' has an invalid timeout_ms: it must be a number above 0, not NaN",
    "Tool 'odd': Unknown implementation type: mocked",
  ]

  test('are one error', async () => {
    const message = await messageOf(createToolyard({ tools, config: {} }))
    expect(message.split('\n- ')).toEqual([
      'createToolyard: 4 problems. Correct them, or go on with strict: false',
      ...problems,
    ])
  })

  test('of a configuration are in it, with the names that it shares with the tools in code', async () => {
    const registry = [
      mock('look'),
      mock('twice'),
      mock('twice'),
      mock('keyed', { implementation: { type: 'http', url: 'https://a.example/${NOWHERE_SET}' } }),
      { name: 'empty' },
      pipeline('plan', 'gone'),
    ]
    const message = await messageOf(createToolyard({ tools: [look], config: { tools: { registry } } }))
    expect(message).toContain('createToolyard: 5 problems.')
    for (const part of [
      "\n- There are two tools 'look'",
      "\n- Tool 'twice' of the config: The name 'twice' at tools.registry[2] is already used by tools.registry[1]",
      "\n- Tool 'keyed' of the config: The environment variable NOWHERE_SET is not set",
      "\n- Tool 'empty' of the config: ",
      "\n- Tool 'plan': ",
    ]) {
      expect(message).toContain(part)
    }
  })

  test('are logged with strict: false, and the other tools run', async () => {
    const log = captureLog()
    await using yard = await createToolyard({ tools, config: {}, log, strict: false })
    const ignored = log.lines.filter(({ message }) => message === 'Ignored, because strict is false')
    expect(ignored).toEqual(problems.map((problem) => expect.objectContaining({ level: 'warn', fields: { problem } })))
    expect(yard.tools.map(({ name }) => name)).toEqual(['look', 'late', 'odd', 'sound'])
    expect(await yard.call('sound', {})).toMatchObject({ result: 'sound' })
    expect(await yard.call('odd', {})).toMatchObject({ success: false, error_code: 'EXECUTION_ERROR' })
    expect(await yard.call('late', {})).toMatchObject({ success: false, error_code: 'EXECUTION_ERROR' })
  })

  test('are found without a configuration, too', async () => {
    const pay = tool({ name: 'pay', description, input: parameters, approval: true, execute: () => 1 })
    const message = await messageOf(createLight({ tools: [look, look, pay, mock('typo', { permision: [] })] }))
    expect(message).toContain('createToolyard: 3 problems.')
    expect(message).toContain("Tool 'pay' needs approval, and approvals need a store: pass storage")
    await using yard = await createLight({ tools: [look, pay], strict: false })
    expect(await yard.call('pay' as 'look', {})).toMatchObject({ success: false })
    expect(await yard.call('look', {})).toMatchObject({ success: true })
  })

  test('a tool of an MCP server that is away is none, an MCP server that lacks a variable is one', async () => {
    const tools = [pipeline('plan', 'gone_tool')]
    const gone = { command: '/does/not/exist' }
    await using yard = await createToolyard({ tools, config: { mcpServers: { gone } } })
    expect(await yard.call('plan', {})).toMatchObject({ success: false })
    const notes = { command: process.execPath, args: [hostileServer, '${NOWHERE_SET}'] }
    const message = await messageOf(createToolyard({ tools: [look], config: { mcpServers: { notes } } }))
    expect(message).toContain('mcpServers.notes of the config: ')
    expect(message).toContain('NOWHERE_SET')
  })
})

describe('settings of the configuration without effect', () => {
  const url = 'https://a.example'
  const webhook = { url, secret: 'a' }
  const needServer: Config = {
    server: { public_url: url },
    page: { allow_commands: true },
    mcp: { servers_out: { small: { tools: ['*'] } } },
    packages: { registry: url },
    objectives: [{ success: 0.9 }],
    alerts: { webhook },
    approvals: { webhook },
    roles: { clerk: { scopes: ['call'] } } as never,
    limits: { calls_per_session: 5, calls_per_minute: 5, body_bytes: 2_048, job_timeout_ms: 5_000, queued_jobs: 5 },
    tenants: { acme: { flags: { beta: true }, quota: { queued_jobs: 5 } } },
    providers: { openai: { any_model: true } },
    tools: { rollout: { look: { guard: {} } as never } },
    auth: {},
  }
  const needStore: Config = {
    storage: { keep_days: 5 },
    validation: { gate: 'hide' },
    budgets: [{ scope: 'tenant', per: 'day', amount: 1, action: 'warn' }],
    limits: { documents: 5, durable_runs: 5, storage_bytes: 5, stored_runs: 5 },
    tenants: { acme: { quota: { documents: 5, durable_runs: 5, storage_bytes: 5, stored_runs: 5 } } },
    connections: {},
  }

  test('are one error, with what to do, before a tool is served', async () => {
    const config = { ...needStore, approvals: { webhook }, limits: { calls_per_minute: 5 } }
    const message = await messageOf(createToolyard({ tools: [look], config }))
    expect(message).toContain(
      '\n- limits.calls_per_minute of the config needs a server. Give tools a rate_limit, or count calls in your program',
    )
    expect(message).toContain('\n- approvals of the config needs a server. Tell people in your program')
    expect(message).toContain("\n- budgets of the config needs a store. Pass storage, such as storage: '.toolyard'")
  })

  test('are logged with strict: false', async () => {
    const log = captureLog()
    const config = { tenants: { acme: { flags: { beta: true } } } }
    await using yard = await createToolyard({ tools: [look], config, log, strict: false })
    const problem = 'tenants.acme.flags of the config needs a server. Pass flags with each call'
    expect(log.at('warn')).toContainEqual({ problem })
    expect(await yard.call('look', {})).toMatchObject({ success: true })
  })

  const placesIn = (config: Config, hasStore: boolean) => idleSettings(config, hasStore).map((one) => one.split(' ')[0])

  test('that need a server are named with a store and without', () => {
    const places = [
      ...['server', 'auth', 'roles', 'page', 'mcp', 'packages', 'objectives', 'alerts', 'approvals'],
      ...['calls_per_session', 'calls_per_minute', 'body_bytes', 'job_timeout_ms', 'queued_jobs'].map(
        (key) => `limits.${key}`,
      ),
      ...[
        'tenants.acme.flags',
        'tenants.acme.quota.queued_jobs',
        'providers.openai.any_model',
        'tools.rollout.look.guard',
      ],
    ]
    for (const hasStore of [true, false]) expect(placesIn(needServer, hasStore).sort()).toEqual(places.sort())
  })

  test('that need a store are named without one', () => {
    const quotas = ['documents', 'durable_runs', 'storage_bytes', 'stored_runs']
    expect(placesIn(needStore, true)).toEqual([])
    expect(placesIn(needStore, false).sort()).toEqual(
      [
        ...['storage', 'validation', 'budgets', 'connections'],
        ...quotas.flatMap((key) => [`limits.${key}`, `tenants.acme.quota.${key}`]),
      ].sort(),
    )
    expect(placesIn({ budgets: [{ scope: 'key', per: 'day', amount: 1 }] }, true)).toEqual(['budgets[0]'])
  })

  test('all other keys of a configuration have one', () => {
    const idle = new Set(
      [...placesIn(needServer, true), ...placesIn(needStore, false)].map((one) => one?.split('.')[0]),
    )
    const honoured = ['$schema', 'models', 'responses', 'http', 'knowledge', 'costs', 'mcpServers', 'servers', 'inputs']
    expect([...idle, ...honoured].sort()).toEqual(Object.keys(CONFIG_SCHEMA.properties).sort())
    const { limits, tenants } = CONFIG_SCHEMA.properties
    const named = placesIn({ ...needServer, limits: { ...needServer.limits, ...needStore.limits } }, false)
    expect(named.filter((one) => one?.startsWith('limits.'))).toHaveLength(Object.keys(limits.properties).length)
    expect(Object.keys(tenants.additionalProperties.properties)).toEqual(['flags', 'quota'])
  })

  test('limits of response rules are named, and what to pass instead', async () => {
    const budget = { tokens: 10 }
    const tools = { enabled: true, allowed_tools: ['look'], max_iterations: 1 }
    const responses = [{ llm: 'mini', model: 'v1', prompt: 'Hi', max_tokens: 5, budget, tools }]
    const message = await messageOf(createToolyard({ tools: [look], config: { responses } }))
    expect(message.split('\n- ').slice(1)).toEqual(
      [
        ['budget', 'budget'],
        ['max_tokens', 'maxTokens'],
        ['tools.max_iterations', 'maxIterations'],
        ['tools.allowed_tools', 'tools'],
      ].map(([key, option]) => `responses[0].${key} of the config needs a server. Pass ${option} with each run`),
    )
  })

  test('the shipped configuration is taken, with a warning of the prompt of its rule', async () => {
    const log = captureLog()
    await using yard = await createToolyard({ config: 'toolyard.config.json', log })
    expect(yard.tools.length).toBeGreaterThan(0)
    const problem =
      'responses[0]: prompt of the config needs a server. Pass system, temperature and tools with each run'
    expect(log.at('warn')).toContainEqual({ problem })
  })

  test('MCP servers that ask people need a store', () => {
    const ask = { command: 'node', forward: { elicitation: 'ask', sampling: 'ask' } } as const
    const others = { command: 'node', forward: { elicitation: true, sampling: false } } as const
    const config: Config = { mcpServers: { ask, others }, servers: { more: ask } }
    expect(placesIn(config, true)).toEqual([])
    expect(placesIn(config, false).sort()).toEqual([
      ...['mcpServers.ask.forward.elicitation', 'mcpServers.ask.forward.sampling'],
      ...['servers.more.forward.elicitation', 'servers.more.forward.sampling'],
    ])
  })

  test('with a store, none of its settings is refused', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolyard-mistakes-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    await using yard = await createToolyard({ tools: [look], config: needStore, storage: folder })
    expect(await yard.call('look', {})).toMatchObject({ success: true })
  })
})

test('ignored settings of MCP servers are mistakes', async () => {
  const server = { command: process.execPath, args: [hostileServer] }
  const off = { ...server, timeoutMs: 1, disabled: true }
  const mcpServers = {
    ...{ seconds: { ...server, timeout: 30 }, text: { ...server, timeout: '5000' }, off },
    ...{ typo: { ...server, timeoutMs: 5_000 }, foreign: { ...server, autoApprove: [] } },
  }
  const message = await messageOf(createToolyard({ config: { mcpServers } as unknown as Config }))
  const [count, ...problems] = message.split('\n- ')
  expect(count).toContain('3 problems')
  expect(problems).toEqual([
    expect.stringMatching(/^mcpServers\.seconds\.timeout 30 is ignored: .* Write "timeout_ms": 30000 for 30 s$/),
    expect.stringMatching(/^mcpServers\.text\.timeout "5000" is ignored/),
    "mcpServers.typo: unknown key 'timeoutMs' is ignored: did you mean 'timeout_ms'?",
  ])
})
