import { describe, expect, test, vi } from 'vitest'
import type { ToolDefinition } from '../../core/tool.ts'
import { isolated, ToolHandlers } from '../../kinds/tool-handlers.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import { ToolManager } from '../tools/tool-manager.ts'

const definition = (approval: unknown): ToolDefinition =>
  ({
    name: 'pay',
    description: 'Pays',
    parameters: { type: 'object' },
    implementation: { type: 'mock' },
    approval,
  }) as ToolDefinition

test('a tool with an invalid rule is left out of the configuration', async () => {
  const registry = [definition({ by: [] }), { ...definition({ wen: {} }), name: 'pay_again' }]
  const manager = new ToolManager({ tools: { enabled: true, registry } }, { log: captureLog() })
  const { skipped } = await manager.loadTools()
  expect(skipped).toMatchObject([
    { name: 'pay', problem: expect.stringContaining('approval.by') },
    { name: 'pay_again', problem: expect.stringContaining('wen') },
  ])
  await manager.close()
})

describe('without a store', () => {
  const ran = vi.fn(() => 'ran')
  const handlers = new ToolHandlers()
  handlers.register('pay', ran)
  handlers.register('isolated', isolated(new URL('../../isolation/fixtures/handlers.ts', import.meta.url), 'echo'))
  const tool = (name: string, implementation: object) => ({ ...definition(true), name, implementation })
  const registry = [
    tool('internal', { type: 'internal', handler: 'pay' }),
    tool('isolated', { type: 'internal', handler: 'isolated' }),
    tool('mock', { type: 'mock', mock_response: 1 }),
    tool('builtin', { type: 'builtin', handler: 'calculate' }),
    tool('http', { type: 'http', url: 'http://127.0.0.1:1/' }),
    tool('knowledge', { type: 'internal', handler: 'summarize' }),
  ]

  test('a tool that needs approval is broken and never runs, whatever its kind', async () => {
    const manager = new ToolManager({ tools: { enabled: true, registry } }, { handlers, log: captureLog() })
    const { warnings } = await manager.loadTools()
    manager.getRegistry().register({
      name: 'langchain',
      description: 'A LangChain tool',
      schema: { type: 'object', properties: {} },
      metadata: { toolyard: { approval: true } },
      invoke: ran,
    })
    for (const name of [...registry.map((one) => one.name), 'langchain']) {
      expect([name, manager.getRegistry().brokenReason(name)]).toEqual([name, expect.stringContaining('no store')])
      const result = await manager.getExecutor().execute(name, {})
      expect([name, result]).toMatchObject([name, { error_code: 'EXECUTION_ERROR' }])
    }
    expect(warnings.filter(({ problem }) => problem.includes('no store'))).toHaveLength(registry.length)
    expect(ran).not.toHaveBeenCalled()
    await manager.close()
  })
})
