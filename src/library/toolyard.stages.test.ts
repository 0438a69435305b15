import { expect, test, vi } from 'vitest'
import { ToolExecutor } from '../core/execution/tool-executor.ts'
import { ToolRegistry } from '../core/execution/tool-registry.ts'
import { toolyard } from '../core/fixtures/code-yard.ts'
import type { Handler, Kind } from '../core/handler.ts'
import { tool } from './tool.ts'

const input = { type: 'object', properties: { n: { type: 'integer' } } } as const

test('a stored result is checked like the first one, and a call that failed so fails again', async () => {
  const registry = new ToolRegistry()
  const executor = new ToolExecutor(registry)
  const execute = vi.fn(() => ({ n: 'x' }) as never)
  const output = { type: 'object', properties: { n: { type: 'integer' } } } as const
  const counts = tool({ name: 'counts', description: 'Counts.', input, output, execute })
  registry.register({ ...counts, cost: { per_call: 1 } })
  const refused = { success: false, error: "Tool 'counts' returned an invalid result: n must be an integer" }
  for (let time = 0; time < 2; time++) {
    expect(await executor.execute('counts', {}, { user: 'ada', idempotencyKey: 'k' })).toMatchObject(refused)
  }
  expect(execute).toHaveBeenCalledTimes(1)
})

test('an approval is not ignored if there is no store for approvals', async () => {
  const { executor, add } = toolyard()
  const run = vi.fn()
  add('look', run, { effect: 'read' })
  expect(await executor.execute('look', {}, { approvalId: 'a1' })).toMatchObject({
    error_code: 'INVALID_PARAMETERS',
    error: "There is no approval 'a1': there is no store for approvals. Leave approval_id out",
  })
  expect(run).not.toHaveBeenCalled()
})

test('a call with an idempotency key joins no other call: its result is stored', async () => {
  const { executor, add } = toolyard()
  let runs = 0
  add('look', async () => ++runs, { effect: 'read' })
  const ada = { user: 'ada' }
  const key = { ...ada, idempotencyKey: 'k' }
  const [one, keyed] = await Promise.all([ada, key].map((context) => executor.execute('look', {}, context)))
  expect([one, keyed, await executor.execute('look', {}, key)]).toMatchObject([
    { result: 1 },
    { result: 2 },
    { result: 2 },
  ])
})

test('a cached result of a tool that calls others is not for a caller for whom one is switched off', async () => {
  const kind = {
    effect: () => 'read' as const,
    callees: () => ['inner'],
    bind:
      () =>
      () =>
      async (_: unknown, { call }: { call?: (name: string, params: object) => Promise<unknown> }) =>
        call?.('inner', {}),
  }
  const { executor, add, registry } = toolyard({ kinds: { flow: kind as never, code: plain } })
  add('inner', () => 1, { effect: 'read' })
  registry.register({
    ...{ name: 'flow', description: 'Asks.', parameters: { type: 'object' }, cache: { ttl_ms: 60_000 } },
    implementation: { type: 'flow' },
  })
  const call = (inner: boolean) => executor.execute('flow', {}, { user: 'ada', flags: { inner } })
  expect(await call(true)).toMatchObject({ result: { success: true, result: 1 } })
  expect(await call(false)).toMatchObject({ result: { success: false, error_code: 'PERMISSION_DENIED' } })
})

const plain: Kind = {
  effect: () => 'read',
  runsProgram: false,
  bind:
    ({ implementation }) =>
    () =>
      implementation.run as Handler,
}
