import { expect, test } from 'vitest'
import { toolyard } from '../fixtures/code-yard.ts'

test('logs the stack of a thrown error, bounded and redacted', async () => {
  const { executor, add, log } = toolyard()
  add('tool', () => {
    throw new TypeError(`cannot use sk-proj-abcdefghijklmnopqrstuvwxyz ${'x'.repeat(5_000)}`)
  })
  add('short', () => {
    throw new TypeError('broken')
  })
  await executor.execute('tool', {})
  await executor.execute('short', {})
  const [long, short] = log.at('warn') as { stack: string }[]
  expect(long?.stack).toContain('TypeError: cannot use [redacted]')
  expect(long?.stack.length).toBeLessThan(2_100)
  expect(short?.stack).toContain('call-log.test.ts')
  expect(short).not.toHaveProperty('reason')
})

test('logs the reason of a network failure, and neither reason nor stack of other refusals', async () => {
  const { executor, add, log } = toolyard()
  add('tool', async () => {
    throw Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:80'), { code: 'ECONNREFUSED' })
  })
  await executor.execute('tool', {})
  await executor.execute('nobody', {})
  const [refused, unknown] = log.at('warn')
  expect(refused).toMatchObject({ reason: 'connect ECONNREFUSED 10.0.0.1:80' })
  expect(refused).not.toHaveProperty('stack')
  expect(Object.keys(unknown ?? {})).not.toContain('reason')
  expect(Object.keys(unknown ?? {})).not.toContain('stack')
})

test("logs the call even if the error can't be read", async () => {
  const { executor, add, log } = toolyard()
  add('tool', () => {
    throw Object.defineProperty(new Error('hm'), 'stack', {
      get: () => {
        throw new Error('trap')
      },
    })
  })
  await executor.execute('tool', { a: 1 })
  expect(log.at('warn')).toMatchObject([{ tool: 'tool', params: { a: 1 }, error: 'hm' }])
})
