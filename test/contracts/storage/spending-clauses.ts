import assert from 'node:assert/strict'
import { type Counter, periodOf } from '../../../src/core/costs.ts'
import { call } from '../../../src/storage/fixtures/call-entry.ts'
import type { Storage } from '../../../src/storage/sql/engine.ts'
import { FULL } from '../../setup/full.ts'
import type { Clauses } from './contract-store.ts'

const AT = Date.UTC(2026, 6, 15, 12)
const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER, limit: 1_000 }
const counter: Counter = { tenant: 'acme', scope: 'tool', name: 'add', per: 'day', start: periodOf('day', AT).start }
let requests = 0
const request = (amount: number, micros: number, refuses = true, id = `request-${++requests}`) => ({
  id,
  counters: [{ ...counter, amount, refuses }],
  micros,
})

const turn = (more: object) => ({ turn: 1, at: AT, tenant: 'acme', model: 'a:b', keyId: null, ...more }) as const

export const spendingClauses: Clauses = {
  'spending: what calls and turns cost is added to tenant, key, tool and model': async (store) => {
    const [one, other] = await store.openTwo()
    await one.ledger.append([call({ at: AT, cost: 5, keyId: 'k' }), call({ at: AT, cost: null })], [])
    await other.ledger.append([call({ at: AT + 86_400_000, cost: 7, tenant: 'globex' })], [], [], [turn({ cost: 3 })])
    // A refused call, and one from a cache.
    await one.ledger.append([call({ at: AT, attempts: 0 }), call({ at: AT, attempts: 0, cost: 0 })], [])
    const names = async (by: 'tenant' | 'key' | 'tool' | 'model', tenant?: string) =>
      (await other.spending.report({ ...ALL, tenant, by })).names
    assert.deepEqual(await names('tenant'), [
      { name: 'acme', spent: 8, calls: 3, unknown: 1 },
      { name: 'globex', spent: 7, calls: 1, unknown: 0 },
    ])
    assert.deepEqual(await names('key', 'acme'), [{ name: 'k', spent: 5, calls: 1, unknown: 0 }])
    assert.deepEqual(await names('tool', 'acme'), [{ name: 'add', spent: 5, calls: 2, unknown: 1 }])
    assert.deepEqual(await names('model', 'acme'), [{ name: 'a:b', spent: 3, calls: 1, unknown: 0 }])
    const { days, total } = await one.spending.report({ ...ALL, tenant: undefined, by: 'tenant', limit: 1 })
    assert.deepEqual(total, { spent: 15, calls: 4, unknown: 1 })
    assert.deepEqual(days, [
      { start: counter.start, spent: 8, calls: 3, unknown: 1 },
      { start: counter.start + 86_400_000, spent: 7, calls: 1, unknown: 0 },
    ])
  },

  'spending: a batch of turns that is written twice is counted once': async (store) => {
    const [one, other] = await store.openTwo()
    const first = [turn({ cost: 1 }), turn({ cost: 2, turn: 2 })]
    await one.ledger.append([], [], [], first)
    await one.ledger.append([], [], [], first)
    await one.ledger.append([], [], [], [turn({ cost: 4, turn: 3 })])
    await other.ledger.append([], [], [], [turn({ cost: 8 })])
    const { total } = await one.spending.report({ ...ALL, tenant: 'acme', by: 'model' })
    assert.deepEqual(total, { spent: 15, calls: 4, unknown: 0 })
  },

  'spending: sums end before they can not be read': async (store) => {
    const [one] = await store.openTwo()
    const most = 9_000_000_000_000_000
    for (let turns = 1; turns < 4; turns += 2) {
      const costs = [turn({ cost: most, turn: turns }), turn({ cost: most, turn: turns + 1 })]
      await one.ledger.append([call({ at: AT, cost: 1 })], [], [], costs)
    }
    await one.ledger.append([], [], [], [turn({ cost: most, turn: 5, at: AT + 86_400_000 })])
    const { total, names, days } = await one.spending.report({ ...ALL, tenant: 'acme', by: 'model' })
    assert.deepEqual(total, { spent: most, calls: 5, unknown: 0 })
    assert.deepEqual([names[0]?.spent, days.map(({ spent }) => spent)], [most, [most, most]])
    await one.spending.hold([request(most, most, false), request(most, most, false)])
    const [answer] = await one.spending.hold([request(most, 1)])
    assert.deepEqual(answer, { spent: [most + 2], refusedBy: 0 })
  },

  'spending: a cost that is no amount is unknown': async (store) => {
    const [one] = await store.openTwo()
    const costs = [Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY, 7]
    const turns = costs.map((cost, index) => turn({ cost, turn: index + 1 }))
    await one.ledger.append([], [], [], turns)
    const { total } = await one.spending.report({ ...ALL, tenant: 'acme', by: 'model' })
    assert.deepEqual(total, { spent: 7, calls: 5, unknown: 4 })
  },

  'spending: servers together set aside no more than a budget, and give it back with the call': async (store) => {
    const [one, other] = await store.openTwo()
    const ids = Array.from({ length: 40 }, (_, index) => `call-${index}`)
    const answers = await Promise.all(
      ids.map((id, index) => (index % 2 === 0 ? one : other).spending.hold([request(50, 10, true, id)])),
    )
    assert.equal(answers.filter(([answer]) => answer?.refusedBy === undefined).length, 5)
    assert.deepEqual(await other.spending.hold([request(50, 10)]), [{ spent: [50], refusedBy: 0 }])
    const held = ids[answers.findIndex(([answer]) => answer?.refusedBy === undefined)] as string
    await one.ledger.append([call({ at: AT, cost: 4, hold: { id: held, micros: 10 } })], [])
    assert.deepEqual(await other.spending.hold([request(50, 1, false)]), [{ spent: [44] }])
    assert.deepEqual(await one.spending.hold([request(50, 20), request(50, 20)]), [
      { spent: [45] },
      { spent: [65], refusedBy: 0 },
    ])
  },

  'spending: two budgets with one counter set a cost aside once, and give it back once': async (store) => {
    const [one] = await store.openTwo()
    const counters = [...request(500, 0).counters, ...request(400, 0, false).counters]
    const both = (id: string) => ({ id, counters, micros: 100 })
    await one.spending.hold([both('first')])
    assert.deepEqual(await one.spending.hold([both('second')]), [{ spent: [100, 100] }])
    await one.ledger.append([call({ at: AT, cost: 30, hold: { id: 'first', micros: 100 } })], [])
    assert.deepEqual(await one.spending.hold([request(500, 0)]), [{ spent: [130] }])
  },

  'spending: a call gives back what it has set aside, and nothing else': async (store) => {
    const [one, other] = await store.openTwo()
    await one.spending.hold([request(50, 30, true, 'first'), request(50, 30, true, 'second')])
    // As if a sweep had removed what this call had set aside, and as if its batch were written twice.
    for (const id of ['unknown', 'first', 'first']) {
      await other.ledger.append([call({ at: AT, cost: 0, hold: { id, micros: 70 } })], [])
    }
    assert.deepEqual(await other.spending.hold([request(50, 0)]), [{ spent: [30] }])
  },

  'spending: a request whose answer was lost is given back before others are answered': async (store) => {
    const [one, other] = await store.openTwo()
    await one.spending.hold([request(50, 50, true, 'lost')])
    assert.deepEqual(await other.spending.hold([request(50, 50)]), [{ spent: [50], refusedBy: 0 }])
    assert.deepEqual(await one.spending.hold([request(50, 20)], ['lost', 'never held']), [{ spent: [0] }])
    assert.deepEqual(await one.spending.hold([], ['lost']), [])
    assert.deepEqual(await other.spending.hold([request(50, 0)]), [{ spent: [20] }])
  },

  'spending: what a dead server has set aside is free again': async (store) => {
    const [dead, watchful] = await store.openSilentAndWatchful()
    await dead.spending.hold([request(50, 50)])
    const until = Date.now() + 20_000
    for (;;) {
      const [answer] = await watchful.spending.hold([request(50, 1)])
      if (answer?.refusedBy === undefined) break
      assert.ok(Date.now() < until, 'the server is still taken for alive')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  },

  'spending: the sum of the counters is the sum of the audit rows, whatever the servers do at once': async (store) => {
    const servers: readonly Storage[] = await store.openTwo()
    let seed = 1
    const random = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % below
    }
    const batches = Array.from({ length: FULL ? 400 : 40 }, () =>
      Array.from({ length: 1 + random(20) }, () =>
        call({
          at: AT + random(3) * 86_400_000,
          tool: `tool-${random(4)}`,
          keyId: random(3) === 0 ? null : `key-${random(3)}`,
          cost: random(5) === 0 ? null : random(1_000_000),
          attempts: random(6) === 0 ? 0 : 1,
        }),
      ),
    )
    await Promise.all(batches.map((calls, index) => (servers[index % 2] as Storage).ledger.append(calls, [])))
    let [sum, cursor]: [number, string | undefined] = [0, undefined]
    do {
      const page = await (servers[0] as Storage).ledger.audit({ tenant: 'acme', limit: 1_000, cursor })
      for (const { cost } of page.rows) sum += Math.round((cost ?? 0) * 1e6)
      cursor = page.next
    } while (cursor !== undefined)
    for (const by of ['tenant', 'tool'] as const) {
      const { total } = await (servers[1] as Storage).spending.report({ ...ALL, tenant: 'acme', by })
      assert.equal(total.spent, sum)
    }
  },
}
