import { expect, test, vi } from 'vitest'
import { silentLog } from '../../core/log.ts'
import type { HoldRequest } from '../../core/storage/spending-store.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import { Budgets } from './budgets.ts'

test('a request that the store refuses does not fail those that wait beside it', async () => {
  const asked: number[] = []
  const store = {
    report: () => Promise.reject(new Error('not needed')),
    hold: async (requests: readonly HoldRequest[]) => {
      asked.push(requests.length)
      if (requests.some(({ counters }) => counters[0]?.tenant === 'bad')) throw new Error('no such row')
      return requests.map(() => ({ spent: [0] }))
    },
  }
  const callers = { nameOf: (id: string) => id, budgetOf: () => undefined }
  const budgets = new Budgets({ store, callers, clock: new ManualClock(), log: silentLog, onTurn: () => {} })
  budgets.configure({ budgets: [{ scope: 'tenant', per: 'day', amount: 1 }] })
  const tenants = ['first', 'one', 'bad', 'other']
  const taken = await Promise.allSettled(tenants.map((tenant) => budgets.take({ tenant, tool: 'pay' }, 1)))
  expect(taken.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  expect(asked).toEqual([1, 3, 1, 1, 1])
  await expect(budgets.take({ tenant: 'bad', tool: 'pay' }, 1)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(asked).toHaveLength(6)
})

test('what the store has set aside for a lost answer is given back, also if no request follows', async () => {
  const clock = new ManualClock()
  const held = new Set<string>()
  let isLost = true
  const store = {
    report: () => Promise.reject(new Error('not needed')),
    hold: async (requests: readonly HoldRequest[], released: readonly string[] = []) => {
      for (const id of released) held.delete(id)
      for (const { id } of requests) held.add(id)
      if (isLost) throw new Error('the connection was lost after the commit')
      return requests.map(() => ({ spent: [0] }))
    },
  }
  const callers = { nameOf: (id: string) => id, budgetOf: () => undefined }
  const budgets = new Budgets({ store, callers, clock, log: silentLog, onTurn: () => {} })
  budgets.configure({ budgets: [{ scope: 'tenant', per: 'day', amount: 1 }] })
  const take = () => budgets.take({ tenant: 'acme', tool: 'pay' }, 1)
  await Promise.allSettled([take(), take(), take()])
  expect(held.size).toBeGreaterThan(0)
  clock.advance(1_000)
  isLost = false
  const taken = await take()
  expect([...held]).toEqual([taken?.hold?.id])
  isLost = true
  await expect(take()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  isLost = false
  clock.advance(1_000)
  await vi.waitFor(() => expect([...held]).toEqual([taken?.hold?.id]))
})
