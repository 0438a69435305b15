import { ToolExecutor, ToolHandlers, ToolManager, ToolRegistry } from 'toolyard'
import { describe, expect, test } from 'vitest'
import { commandLine } from './command-line.ts'
import { mock, yard } from './yard.ts'

describe('Handlers', () => {
  test('a handler is called as handler(params, context) and returns a promise of any JSON value', async () => {
    const progress: unknown[] = []
    const { execute } = await yard({
      probe: {
        run: async (params, { signal, tenant, flags, report, log }) => {
          report({ done: 1 })
          log.info({ note: 'from the handler' }, 'Working')
          return { params, tenant, flags, listens: signal instanceof AbortSignal }
        },
      },
    })
    const context = { tenant: 'acme', flags: { vault: true }, report: (step: unknown) => progress.push(step) }
    expect(await execute('probe', { a: 1 }, context)).toMatchObject({
      result: { params: { a: 1 }, tenant: 'acme', flags: { vault: true }, listens: true },
    })
    expect(progress).toEqual([{ done: 1 }])
  })

  test('As text (a terminal) a string is written as it is, anything else as JSON', () => {
    const config = { tools: { enabled: true, registry: [mock('text', 'two\nlines'), mock('data', { a: ['1'] })] } }
    expect(commandLine(config, 'exec', 'text').stdout).toBe('two\nlines\n')
    expect(JSON.parse(commandLine(config, 'exec', 'data').stdout)).toEqual({ a: ['1'] })
  })

  test.todo('As text (MCP text content, LangChain) a string is written as it is, anything else as JSON')

  test('the public classes: ToolExecutor, ToolRegistry, ToolManager(config), ToolHandlers', () => {
    const methods = (of: { readonly prototype: object }) => Object.getOwnPropertyNames(of.prototype)
    expect(methods(ToolExecutor)).toEqual(expect.arrayContaining(['execute', 'validate']))
    expect(methods(ToolRegistry)).toEqual(
      expect.arrayContaining(['register', 'get', 'has', 'find', 'list', 'toProviderFormat']),
    )
    expect(methods(ToolManager)).toEqual(
      expect.arrayContaining([
        'loadTools',
        'getRegistry',
        'getExecutor',
        'isEnabled',
        'getMaxIterations',
        'getDefaultTimeout',
      ]),
    )
    expect(methods(ToolHandlers)).toEqual(expect.arrayContaining(['register', 'get']))
  })

  test('ToolExecutor (execute, validate(tool, params) → {valid, errors})', async () => {
    const parameters = { type: 'object', properties: { n: { type: 'integer' } } }
    const { executor, registry } = await yard({ count: { run: () => 1, parameters } })
    const tool = registry.get('count')
    if (!tool) throw new Error('count is not registered')
    expect(await executor.validate(tool, { n: 1 })).toEqual({ valid: true, errors: [] })
    expect(await executor.validate(tool, { n: 'x' })).toEqual({ valid: false, errors: ['n must be an integer'] })
  })
})
