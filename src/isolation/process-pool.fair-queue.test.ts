import { describe, expect, it } from 'vitest'
import { CallQueue } from './process-pool.ts'

interface Call {
  readonly tenant: string
  readonly n: number
}

function queue(...tenants: string[]): CallQueue<Call> {
  const made = new CallQueue<Call>()
  tenants.forEach((tenant, n) => {
    made.add({ tenant, n })
  })
  return made
}

function drain(from: CallQueue<Call>, fits: (call: Call) => boolean = () => true): number[] {
  const order: number[] = []
  for (let call = from.take(fits); call !== undefined; call = from.take(fits)) order.push(call.n)
  return order
}

describe('CallQueue', () => {
  it('serves one tenant in the order of arrival', () => {
    expect(drain(queue('a', 'a', 'a'))).toEqual([0, 1, 2])
  })

  it('serves tenants in turn', () => {
    expect(drain(queue('a', 'a', 'a', 'b', 'c', 'b'))).toEqual([0, 3, 4, 1, 5, 2])
  })

  it('passes over calls that do not fit, and keeps them', () => {
    const made = queue('a', 'a', 'b')
    expect(drain(made, (call) => call.n !== 0)).toEqual([1, 2])
    expect(made.size).toBe(1)
    expect(drain(made)).toEqual([0])
  })

  it('forgets a call that is removed, once', () => {
    const made = queue('a', 'b')
    const [first] = made
    made.remove(first as Call)
    made.remove(first as Call)
    expect(made.size).toBe(1)
    expect(drain(made)).toEqual([1])
    expect(made.size).toBe(0)
  })
})
