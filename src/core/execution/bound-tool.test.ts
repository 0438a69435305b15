import { expect, test } from 'vitest'
import { ManualClock } from '../../testing/stand-ins.ts'
import { toolyard } from '../fixtures/code-yard.ts'
import type { Kind } from '../handler.ts'

test('health reports the remaining calls of a tenant and resets after the window', async () => {
  const clock = new ManualClock()
  const { executor, add } = toolyard({ clock })
  add('tool', () => 'done', { effect: 'read', rate_limit: { calls: 3, per_ms: 1_000 } })
  expect(executor.healthOf('tool', 'acme')).toEqual({})
  await executor.execute('tool', {}, { tenant: 'acme' })
  await executor.execute('tool', {}, { tenant: 'acme' })
  const limit = (remaining: number) => ({ rate_limit: { calls: 3, per_ms: 1_000, remaining } })
  expect(executor.healthOf('tool', 'acme')).toEqual(limit(1))
  expect(executor.healthOf('tool', 'other')).toEqual(limit(3))
  clock.advance(1_000)
  expect(executor.healthOf('tool', 'acme')).toEqual(limit(3))
})

test('health has the circuit of the kind', async () => {
  const circuit = { state: 'open', failures: 5, retry_in_ms: 100 } as const
  const kind: Kind = { effect: () => 'read', circuit: () => circuit, bind: () => () => () => 'done' }
  const { executor, registry } = toolyard({ kinds: { web: kind } })
  registry.register({
    name: 'tool',
    description: 'A tool',
    parameters: { type: 'object' },
    implementation: { type: 'web' },
  })
  await executor.execute('tool', {})
  expect(executor.healthOf('tool', 'local')).toEqual({ circuit })
  expect(executor.healthOf('nothing', 'local')).toEqual({})
})
