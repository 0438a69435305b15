import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { ToolExecutor, ToolHandlers, ToolManager, ToolRegistry } from 'toolyard'
import { describe, expect, onTestFinished, test } from 'vitest'
import { toLangChain } from '../src/library/to-langchain.ts'
import { serveHttp } from '../src/mcp/server/fixtures/serve-http.ts'
import { ToolServer } from '../src/mcp/server/tool-server.ts'
import { runCommand } from './fixtures/command-line.ts'
import { configured, mock, withTools } from './fixtures/tool-manager.ts'

describe('Handlers', () => {
  test('[1.2-1] calls handler(params, context) and accepts any JSON value', async () => {
    const progress: unknown[] = []
    const { execute } = await withTools({
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

  test('[1.2-2] prints a string as it is and anything else as JSON in a terminal', async () => {
    const config = { tools: { enabled: true, registry: [mock('text', 'two\nlines'), mock('data', { a: ['1'] })] } }
    expect((await runCommand(config, 'exec', 'text')).stdout).toBe('two\nlines\n')
    expect(JSON.parse((await runCommand(config, 'exec', 'data')).stdout)).toEqual({ a: ['1'] })
  })

  test('[1.2-2] gives LangChain a string as it is and anything else as JSON', async () => {
    const { executor, registry } = await configured([mock('text', 'two\nlines'), mock('data', { a: ['1'] })])
    const written = ['two\nlines', '{"a":["1"]}']
    const handedOut = await toLangChain(executor)
    expect(await Promise.all(handedOut.map((tool) => tool.invoke({})))).toEqual(written)
    const formatted = registry.toProviderFormat('langchain') as typeof handedOut
    expect(await Promise.all(formatted.map((tool) => tool.invoke({})))).toEqual(written)
  })

  test('[1.2-2] gives MCP text content a string as it is and anything else as JSON', async () => {
    const { executor, registry } = await configured([mock('text', 'two\nlines'), mock('data', { a: ['1'] })])
    const { url, close } = await serveHttp(new ToolServer({ registry, executor, version: '1' }), { port: 0 })
    onTestFinished(close)
    const client = new Client({ name: 'spec', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    onTestFinished(() => client.close())
    const contentOf = async (name: string) => (await client.callTool({ name, arguments: {} })).content
    expect(await contentOf('text')).toEqual([{ type: 'text', text: 'two\nlines' }])
    expect(await contentOf('data')).toEqual([{ type: 'text', text: '{"a":["1"]}' }])
  })

  test('[1.2-3] exports ToolExecutor, ToolRegistry, ToolManager and ToolHandlers with their methods', () => {
    const methods = ({ prototype }: { readonly prototype: object }) => [
      ...[...Object.getOwnPropertyNames(prototype), ...Object.getOwnPropertyNames(Object.getPrototypeOf(prototype))],
    ]
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

  test('[1.2-4] validates parameters without running the tool', async () => {
    const parameters = { type: 'object', properties: { n: { type: 'integer' } } }
    const { executor, registry } = await withTools({ count: { run: () => 1, parameters } })
    const tool = registry.get('count')
    if (!tool) throw new Error('count is not registered')
    expect(await executor.validate(tool, { n: 1 })).toEqual({ valid: true, errors: [] })
    expect(await executor.validate(tool, { n: 'x' })).toEqual({ valid: false, errors: ['n must be an integer'] })
  })
})
