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
  expect(refused).toMatchObject({
    reason: 'connect ECONNREFUSED 10.0.0.1:80: the connection was refused (ECONNREFUSED)',
  })
  expect(refused).not.toHaveProperty('stack')
  expect(Object.keys(unknown ?? {})).not.toContain('reason')
  expect(Object.keys(unknown ?? {})).not.toContain('stack')
})

test.each([
  ['fetch failed', 'ENOTFOUND', 'fetch failed: no such host (ENOTFOUND)'],
  ['', 'ECONNREFUSED', 'the connection was refused (ECONNREFUSED)'],
  ['fetch failed', 'UND_ERR_CONNECT_TIMEOUT', 'fetch failed: no answer (UND_ERR_CONNECT_TIMEOUT)'],
])('logs why a connection failed, and does not tell the caller: %j, %s', async (message, code, reason) => {
  const { executor, add, log } = toolyard()
  add('tool', async () => {
    throw new TypeError(message, { cause: Object.assign(new Error('failed'), { code }) })
  })
  const { error } = (await executor.execute('tool', {})) as { error: string }
  expect(error).toBe("The service behind tool 'tool' is unavailable. Try again later.")
  expect(log.at('warn')[0]).toMatchObject({ reason })
})

test('does not take a missing file for a connection', async () => {
  const { executor, add, log } = toolyard()
  add('tool', async () => {
    throw Object.assign(new Error('open /tmp/x'), { code: 'ENOENT' })
  })
  await executor.execute('tool', {})
  expect(JSON.stringify(log.at('warn'))).not.toContain('connection')
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
