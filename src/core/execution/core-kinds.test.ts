import { expect, test } from 'vitest'
import type { ToolDefinition } from '../tool.ts'
import { ToolExecutor } from './tool-executor.ts'
import { ToolRegistry } from './tool-registry.ts'

function executorOf(
  implementation: ToolDefinition['implementation'],
  rest: Partial<ToolDefinition> = {},
): ToolExecutor {
  const registry = new ToolRegistry()
  registry.register({ name: 't', description: 'T', parameters: { type: 'object' }, implementation, ...rest })
  return new ToolExecutor(registry)
}

test('an executor without kinds runs mock tools', async () => {
  const cases = [{ when: { city: 'Oslo' }, mock_response: 'snow' }]
  const executor = executorOf({ type: 'mock', mock_response: 'rain', cases })
  expect(await executor.execute('t', { city: 'Oslo' })).toMatchObject({ success: true, result: 'snow' })
  expect(await executor.execute('t', {})).toMatchObject({ success: true, result: 'rain' })
})

test('an executor without kinds says how it gets them', async () => {
  const executor = executorOf({ type: 'builtin', handler: 'echo' })
  const message =
    'Unknown implementation type: builtin. Pass the kinds: new ToolExecutor(registry, { kinds: kinds(new ToolHandlers()) }), or use createToolyard()'
  expect(await executor.execute('t', {})).toMatchObject({ error_code: 'EXECUTION_ERROR', error: message })
  expect(executor.registry.brokenReason('t')).toBe(message)
})

test('a refused call says how many problems it does not list', async () => {
  const required = Array.from({ length: 100 }, (_, at) => `key${at}`)
  const executor = executorOf({ type: 'mock', mock_response: 1 }, { parameters: { type: 'object', required } })
  const { error, details } = Object(await executor.execute('t', {}))
  expect(error).toMatch(/, missing 'key49', and 50 more$/)
  expect([details.problems.length, details.more_problems]).toEqual([50, 50])
})
