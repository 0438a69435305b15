import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { checkConfig } from '../../config/check-config.ts'
import type { Config } from '../../config/config.ts'
import { oddVariants } from '../../core/fixtures/odd-values.ts'
import { captureLog } from '../../testing/stand-ins.ts'
import { ToolManager } from './tool-manager.ts'

const parameters = { type: 'object', properties: { a: { type: 'string', format: 'date', pattern: '^a' } } }

const IMPLEMENTATIONS: Readonly<Record<string, object>> = {
  mock: { type: 'mock', mock_response: 1, cases: [{ when: { a: 'x' }, mock_response: 2 }] },
  builtin: { type: 'builtin', handler: 'math_eval', network: true },
  internal: { type: 'internal', handler: 'mine', returns: 'mcp_content' },
  mcp: { type: 'mcp', server: 'files', tool: 'read' },
  agent: { type: 'agent', model: 'openai:x', prompt: 'Say {{a}}.', tools: ['good'], budget: { tokens: 1 } },
  remote: { type: 'agent', model: 'openai:x', url: 'http://192.0.2.1/', api_key: 'x' },
  pipeline: { type: 'pipeline', steps: [{ id: 'one', tool: 'good', params: { a: 1 } }], output: { $: '$.steps.one' } },
  http: {
    ...{ type: 'http', method: 'POST', url: 'http://192.0.2.1/{a}', query: { b: 'c' }, headers: { d: 'e' } },
    ...{ params_mapping: { a: 'a' }, params_in: { a: 'path' }, body: 'json', allowed_domains: ['example.com'] },
    auth: { type: 'api_key', in: 'header', name: 'x-key', key: 'k' },
    response: { path: '$.a' },
  },
  unknown: { type: 'other' },
}

const MORE = {
  ...{ version: '1.0.0', deprecated: { since: '1', use: 'good' }, migrate: [{ from: '0.1.0', rename: { b: 'a' } }] },
  ...{ timeout_ms: 1, permissions: ['p'], effect: 'write', retry: { max_attempts: 1 }, cache: { ttl_ms: 1 } },
  ...{ approval: { when: { type: 'object' }, by: ['admin'] }, rate_limit: { calls: 1, per_ms: 1 }, shared: false },
  ...{ max_concurrency: 1, cost: { per_call: 1, currency: 'USD' } },
}

const good = {
  name: 'good',
  description: 'Answers.',
  parameters,
  implementation: { type: 'mock', mock_response: 'ran' },
}

const BASES = {
  ...Object.fromEntries(
    Object.entries(IMPLEMENTATIONS).map(([kind, implementation]) => [
      kind,
      { description: 'A tool.', parameters, implementation },
    ]),
  ),
  'a mock with everything': { description: 'A tool.', parameters, ...MORE, implementation: IMPLEMENTATIONS.mock },
}

test.each(Object.entries(BASES))('odd values in a tool do not stop the others: %s', async (_kind, base) => {
  const folder = await mkdtemp(join(tmpdir(), 'toolyard-odd-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const odd = oddVariants(base).map((one, at) => ({ name: `odd_${at}`, ...(one as object) }))
  const unnamed = oddVariants({ name: 'x' }).map((one) => ({ ...base, ...(one as object) }))
  const registry = [...odd, ...unnamed, ...oddVariants('x'), good]
  const config = { tools: { enabled: true, registry }, mcpServers: { files: { url: 'http://127.0.0.1:1/' } } }
  checkConfig(config as unknown as Config, 'test')
  const manager = new ToolManager(config as unknown as Config, { log: captureLog(), env: { TOOLYARD_DATA: folder } })
  onTestFinished(() => manager.close())
  const { loaded } = await manager.loadTools()
  expect(loaded).toContain('good')
  await manager.warm()
  manager.getMcpStatus()
  const executor = manager.getExecutor()
  for (const provider of ['openai', 'anthropic', 'gemini', 'ollama', 'mcp', 'langchain']) {
    expect(manager.getRegistry().toProviderFormat(provider, ['good'])).toHaveLength(1)
  }
  for (const name of loaded) {
    executor.check(name)
    executor.effectOf(name)
    manager.getRegistry().brokenReason(name)
    await executor.validate(name, { a: '2026-01-01' })
  }
  expect(await executor.execute('good', {})).toMatchObject({ success: true, result: 'ran' })
})
