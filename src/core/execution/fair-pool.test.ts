import { describe, expect, it } from 'vitest'
import { FairPool, type FairPoolOptions } from './fair-pool.ts'

interface Caller {
  readonly tenant: string
  readonly n: number
}

function pool(options: Partial<FairPoolOptions>, ...tenants: string[]): FairPool<Caller> {
  const made = new FairPool<Caller>({ size: 1, queue: 100, ...options })
  tenants.forEach((tenant, n) => {
    made.add({ tenant, n })
  })
  return made
}

/** The numbers of all callers in their order, if each gives its place back before the next takes one. */
function drain(from: FairPool<Caller>, fits?: (caller: Caller) => boolean): number[] {
  const order: number[] = []
  for (let caller = from.take(fits); caller !== undefined; caller = from.take(fits)) {
    order.push(caller.n)
    from.leave(caller.tenant)
  }
  return order
}

describe('turns', () => {
  it('serves one tenant in the order of arrival', () => {
    expect(drain(pool({}, 'a', 'a', 'a'))).toEqual([0, 1, 2])
  })

  it('serves tenants in turn', () => {
    expect(drain(pool({}, 'a', 'a', 'a', 'b', 'c', 'b'))).toEqual([0, 3, 4, 1, 5, 2])
  })

  it('passes over callers that do not fit, and keeps them', () => {
    const made = pool({}, 'a', 'a', 'b')
    expect(drain(made, (caller) => caller.n !== 0)).toEqual([1, 2])
    expect(made.waiting).toBe(1)
    expect(drain(made)).toEqual([0])
  })

  it('forgets a caller that is removed, once', () => {
    const made = pool({}, 'a', 'b')
    const [first] = made
    expect([made.remove(first as Caller), made.remove(first as Caller)]).toEqual([true, false])
    expect(drain(made)).toEqual([1])
    expect([made.waiting, made.taken]).toEqual([0, 0])
  })
})

describe('shares', () => {
  it('gives one tenant half of the places, and the other half to others', () => {
    const made = pool({ size: 4 }, 'greedy', 'greedy', 'greedy', 'greedy', 'modest', 'third')
    expect([made.take(), made.take(), made.take(), made.take(), made.take()].map((caller) => caller?.n)).toEqual([
      0,
      4,
      5,
      1,
      undefined,
    ])
    made.leave('modest')
    expect(made.take()).toBeUndefined()
    expect(made.hasRoom('greedy')).toBe(false)
    made.leave('greedy')
    expect(made.take()?.n).toBe(2)
  })

  it('lets a tenant hold more if it may and no other waits, and then yields to others', () => {
    const made = pool({ size: 4, share: 4 })
    for (let n = 0; n < 4; n++) expect(made.enter('greedy')).toBe(true)
    for (const tenant of ['greedy', 'greedy', 'modest', 'modest']) made.add({ tenant, n: made.waiting })
    const order: unknown[] = []
    for (let n = 0; n < 4; n++) {
      made.leave('greedy')
      order.push(made.take()?.n)
    }
    expect(order).toEqual([2, 3, 0, 1])
  })

  it('never takes more places than there are', () => {
    const made = pool({ size: 2 }, 'a', 'b', 'c')
    expect([made.take()?.n, made.take()?.n, made.take()]).toEqual([0, 1, undefined])
    expect(made.enter('d')).toBe(false)
  })
})

it('lets as many callers of each tenant wait, whatever other tenants do', () => {
  const made = pool({ queue: 2 })
  const add = (tenant: string) => made.add({ tenant, n: 0 })
  expect([add('greedy'), add('greedy'), add('greedy'), add('modest')]).toEqual([true, true, false, true])
})

it('remembers nothing of tenants that neither hold a place nor wait', () => {
  const made = pool({ size: 10 })
  for (let n = 0; n < 1_000; n++) {
    const caller = { tenant: `t${n}`, n }
    made.add(caller)
    if (n % 2 === 0) made.remove(caller)
    else expect(made.take()).toBe(caller)
    if (n % 2 === 1) made.leave(caller.tenant)
  }
  expect([...made, made.taken, made.waiting]).toEqual([0, 0])
})
