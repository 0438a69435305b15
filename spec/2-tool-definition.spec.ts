import { type Config, ConfigError, silentLog, ToolManager, ToolRegistry } from 'toolyard'
import { ManualClock } from 'toolyard/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { spawnCommand } from './fixtures/command-line.ts'
import { httpTool, withHttpTools } from './fixtures/http-api.ts'
import { household, withMcpServers } from './fixtures/mcp-servers.ts'
import { openaiModel } from './fixtures/server.ts'
import { configured, never, withTools } from './fixtures/tool-manager.ts'

const mock = (name: string, more: object = {}) => ({
  name,
  description: `The tool ${name}`,
  parameters: { type: 'object' },
  implementation: { type: 'mock', mock_response: name },
  ...more,
})

const refusal = (tool: object) => () => new ToolRegistry().register(tool as never)

describe('Tool definition', () => {
  test('[2.1-1] takes a flat, unique name, a description, parameters and an implementation', async () => {
    const { execute, registry, log } = await configured([mock('summarize'), mock('text.summarize')])
    expect(registry.list().map(({ name }) => name)).toEqual(['summarize'])
    expect(await execute('summarize')).toMatchObject({ success: true, result: 'summarize' })
    expect(log.at('warn')).toMatchObject([{ tool: 'text.summarize' }])
  })

  test('[2.1-2] looks up implementation.handler and never the top-level handler', async () => {
    const { execute } = await configured([
      { ...mock('say'), type: 'anything', handler: 'nowhere', implementation: { type: 'builtin', handler: 'echo' } },
    ])
    expect(await execute('say', { a: 1 })).toMatchObject({ result: { echo: { a: 1 } } })
  })

  test('[2.1-3] takes timeout_ms, permissions, effect, retry, cache, max_concurrency, max_result_bytes and rate_limit', async () => {
    const clock = new ManualClock()
    let runs = 0
    const { execute } = await withTools(
      {
        timed: { run: never, timeout_ms: 50 },
        closed: { run: () => 1, permissions: ['vault'] },
        cached: { run: () => ++runs, effect: 'read', cache: { ttl_ms: 1_000 }, shared: true },
        single: { run: never, max_concurrency: 1, timeout_ms: 50 },
        small: { run: () => 'x'.repeat(20), max_result_bytes: 10 },
        rare: { run: () => 1, rate_limit: { calls: 1, per_ms: 1_000 } },
      },
      { clock },
    )
    const stuck = [execute('timed'), execute('single')]
    expect(await execute('single')).toMatchObject({ error_code: 'RATE_LIMITED' })
    clock.advance(60)
    expect(await Promise.all(stuck)).toMatchObject([{ error_code: 'TIMEOUT' }, { error_code: 'TIMEOUT' }])
    expect(await execute('closed')).toMatchObject({ error_code: 'PERMISSION_DENIED' })
    expect([await execute('cached'), await execute('cached')]).toMatchObject([{ result: 1 }, { result: 1 }])
    expect(await execute('small')).toMatchObject({ error_code: 'RESULT_TOO_LARGE' })
    expect([await execute('rare'), await execute('rare')]).toMatchObject([
      { success: true },
      { error_code: 'RATE_LIMITED' },
    ])
  })

  test('[2.1-4] refuses a definition without name or description', () => {
    const message = 'Tool must have name and description'
    expect(refusal({ ...mock('a'), name: undefined })).toThrow(message)
    expect(refusal({ ...mock('a'), name: '' })).toThrow(message)
    expect(refusal({ ...mock('a'), description: undefined })).toThrow(message)
  })

  test('[2.1-5] refuses a definition without an object schema', () => {
    const message = 'Tool parameters must be an object schema'
    for (const parameters of [undefined, null, 'object', [], {}, { type: 'string' }])
      expect(refusal({ ...mock('a'), parameters })).toThrow(message)
  })

  test('[2.1-6] takes read, idempotent or write as effect', async () => {
    const retried = async (effect: string) => {
      let runs = 0
      const run = () => {
        runs++
        return Promise.reject(Object.assign(new Error('down'), { code: 'ECONNREFUSED' }))
      }
      const { execute } = await withTools({
        call: { run, effect: effect as 'read', retry: { max_attempts: 2, backoff_ms: 1 } },
      })
      await execute('call')
      return runs
    }
    expect([await retried('read'), await retried('idempotent'), await retried('write')]).toEqual([2, 2, 1])
  })

  test('[2.1-7] derives read for mocks and shipped builtins, and write for others', async () => {
    const { execute } = await withTools({ host: { run: never, timeout_ms: 30, type: 'internal' } })
    expect(await execute('host')).toMatchObject({ outcome: 'unknown' })
    // A read has no outcome to be unsure of.
    const builtins = await configured([mock('sum', { implementation: { type: 'builtin', handler: 'math_eval' } })])
    const gone = AbortSignal.timeout(0)
    const result = await builtins.execute('sum', { expression: '1+1' }, { signal: gone })
    expect(result).toMatchObject({ error_code: 'CANCELLED' })
    expect(result).not.toHaveProperty('outcome')
    const cached = mock('cached', { cache: { ttl_ms: 1_000 } })
    expect((await configured([cached])).log.at('warn')).toEqual([])
  })

  test('[2.1-7] derives the effect of HTTP tools from the method', async () => {
    const methods = ['GET', 'HEAD', 'PUT', 'DELETE', 'POST', 'PATCH']
    const { executor } = await withHttpTools(
      methods.map((method) => httpTool(method, { url: 'https://api.example.com/', method })),
    )
    expect(methods.map((method) => executor.effectOf(method))).toEqual([
      'read',
      'read',
      'idempotent',
      'idempotent',
      'write',
      'write',
    ])
  })

  test('[2.1-7] derives the effect of MCP tools from annotations', async () => {
    const { connected, registry } = await withMcpServers({ home: household() })
    await connected()
    const effects = ['look', 'dim', 'ring'].map(
      (name) => registry.definitions().find((tool) => tool.name === name)?.effect,
    )
    expect(effects).toEqual(['read', 'idempotent', 'write'])
  })

  test('[2.1-8] answers EXECUTION_ERROR for a tool whose schema does not compile, and loads the others', async () => {
    const broken = mock('broken', { parameters: { type: 'object', properties: { a: { type: 'nonsense' } } } })
    const { execute, registry } = await configured([broken, mock('fine')])
    expect(await execute('broken', { a: 1 })).toMatchObject({
      error: expect.stringMatching(/^Tool 'broken' has an invalid schema: ./),
      error_code: 'EXECUTION_ERROR',
    })
    expect(registry.brokenReason('broken')).toEqual(expect.any(String))
    expect(await execute('fine')).toMatchObject({ success: true })
  })

  test('[2.1-9] reports a bad definition by name and skips it', async () => {
    const { registry, log } = await configured([mock('bad', { parameters: [] }), mock('good')])
    expect(registry.list().map(({ name }) => name)).toEqual(['good'])
    expect(JSON.stringify(log.lines)).toMatch(/bad.*must be an object schema|must be an object schema.*bad/)
  })

  test('[2.1-10] loads a tool with a missing handler or an unknown kind, warns, and fails when it is called', async () => {
    const { execute, log } = await configured([
      mock('no_builtin', { implementation: { type: 'builtin', handler: 'gone' } }),
      mock('no_internal', { implementation: { type: 'internal', handler: 'gone' } }),
      mock('no_kind', { implementation: { type: 'telepathy' } }),
      mock('good'),
    ])
    const warned = JSON.stringify(log.at('warn'))
    for (const name of ['no_builtin', 'no_internal', 'no_kind']) expect(warned).toContain(name)
    expect(await execute('no_builtin')).toMatchObject({ error: "Builtin handler 'gone' not found" })
    expect(await execute('no_internal')).toMatchObject({ error: "Internal handler 'gone' not found" })
    expect(await execute('no_kind')).toMatchObject({ error: 'Unknown implementation type: telepathy' })
    expect(await execute('good')).toMatchObject({ success: true })
  })

  test('[2.1-11] skips a tool with a missing variable or a duplicate name', async () => {
    const needs = (name: string, variable: string) =>
      mock(name, { implementation: { type: 'mock', mock_response: 1, 'x-key': `$\{${variable}}` } })
    const { registry, log, execute } = await configured(
      [needs('with', 'PRESENT'), needs('without', 'ABSENT'), mock('twice'), mock('twice', { description: 'Second' })],
      { env: { PRESENT: 'yes' } },
    )
    expect(registry.list().map(({ name }) => name)).toEqual(['with', 'twice'])
    expect(await execute('twice')).toMatchObject({ success: true })
    expect(registry.get('twice')?.description).toBe('The tool twice')
    const warned = log.at('warn').map((fields) => JSON.stringify(fields))
    expect(warned).toHaveLength(2)
    expect(warned[0]).toMatch(/without.*ABSENT/)
    expect(warned[1]).toMatch(/twice.*registry\[3\].*registry\[2\]/)
  })

  test('[2.1-17] skips a tool with an unknown key and names the nearest known one', async () => {
    const { registry, log } = await configured([
      mock('closed', { permisions: ['admin'] }),
      mock('http', { implementation: { type: 'http', url: 'https://a.test/', alowed_domains: ['a.test'] } }),
      mock('open', { 'x-owner': 'us' }),
    ])
    expect(registry.list().map(({ name }) => name)).toEqual(['open'])
    const warned = log.at('warn').map((fields) => JSON.stringify(fields))
    expect(warned[0]).toMatch(/closed.*permisions.*did you mean 'permissions'/)
    expect(warned[1]).toMatch(/http.*alowed_domains.*did you mean 'allowed_domains'/)
  })

  test('[2.1-12] stops the start with exit code 2 for an error outside tools.registry', () => {
    const { status, stdout, stderr, file } = spawnCommand({ tools: { enabld: true } }, 'tools')
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain(file)
    expect(stderr).toContain("'tools.enabld'")
    expect(stderr).toContain("'enabled'")
  })

  test('[2.1-13] enables tools only when tools.enabled is true', () => {
    const enables = (enabled: unknown): boolean => {
      try {
        return new ToolManager({ tools: { enabled, registry: [] } } as Config, { log: silentLog }).isEnabled()
      } catch (error) {
        // What is no boolean is an error of the configuration, and enables nothing either.
        expect(error).toBeInstanceOf(ConfigError)
        return false
      }
    }
    for (const value of [undefined, false, null, 'true', 1]) expect(enables(value)).toBe(false)
    expect(enables(true)).toBe(true)
  })

  test("[2.1-13] enables tools of a rule only when the rule's tools.enabled is true", async () => {
    const registry = [{ ...mock('get_weather'), parameters: { type: 'object' } }]
    const offered = async (tools: object) => {
      const model = await openaiModel('It is sunny.')
      const rule = { llm: 'openai', model: 'gpt-4o', prompt: '', ...tools }
      const config = { ...model.config, tools: { enabled: true, registry }, responses: [rule] }
      const manager = new ToolManager(config, { log: silentLog })
      onTestFinished(() => manager.close())
      await manager.loadTools()
      await (await manager.getChat()).answer({ message: "What's the weather in Paris?" })
      const [{ body } = { body: undefined }] = model.requests
      return (body as { tools?: { function: { name: string } }[] }).tools?.map((tool) => tool.function.name) ?? []
    }
    expect(await offered({ tools: { enabled: true } })).toContain('get_weather')
    expect(await offered({ tools: { enabled: false } })).toEqual([])
    expect(await offered({ tools: {} })).toEqual([])
    expect(await offered({})).toEqual([])
  })

  test("[2.1-14] has empty lists and no tools when tools aren't enabled", async () => {
    const { registry, execute } = await configured([mock('a')], { enabled: false })
    expect(registry.list()).toEqual([])
    expect(registry.toProviderFormat('openai')).toEqual([])
    expect(await execute('a')).toMatchObject({ error_code: 'TOOL_NOT_FOUND' })
  })

  test('[2.1-15] registers all tools at start', async () => {
    const { registry } = await configured([mock('a'), mock('b')])
    expect(registry.list().map(({ name }) => name)).toEqual(['a', 'b'])
  })

  test('[2.1-16] changes nothing and warns about nothing when it runs twice', async () => {
    const { manager, registry, log } = await configured([mock('a'), mock('b')])
    const before = registry.list()
    await manager.loadTools()
    expect(registry.list()).toEqual(before)
    expect(log.at('warn')).toEqual([])
  })
})
