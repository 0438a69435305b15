import { expect, test } from 'vitest'
import { MemoryOnce } from '../../core/execution/once.ts'
import { toolyard } from '../../core/fixtures/code-yard.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import { BoundedOnce, Tenants } from './tenants.ts'

test('results of idempotency keys count against the quota for bytes, for a day', async () => {
  const clock = new ManualClock()
  const tenants = new Tenants()
  tenants.configure({ limits: { storage_bytes: 2_500 } })
  const once = new BoundedOnce(new MemoryOnce(clock, 'refuse'), tenants, clock)
  const { executor, add } = toolyard({ once, clock })
  add('write', () => 'x'.repeat(1_000))
  const write = (key: string, tenant = 'acme') => executor.execute('write', {}, { idempotencyKey: key, tenant })
  const full = {
    error_code: 'RATE_LIMITED',
    error: expect.stringContaining("Tenant 'acme' has reached its quota 'storage_bytes'"),
  }
  for (const key of ['1', '2', '3']) expect(await write(key)).toMatchObject({ success: true })
  expect(await write('4')).toMatchObject(full)
  // What is stored can still be read, and other tenants have their own quota.
  expect(await write('1')).toMatchObject({ success: true })
  expect(await write('4', 'other')).toMatchObject({ success: true })
  clock.advance(86_400_000)
  expect(await write('4')).toMatchObject(full)
  clock.advance(86_400_000)
  expect(await write('4')).toMatchObject({ success: true })
})
