import assert from 'node:assert/strict'
import type { OnceClaim } from '../../../src/core/once-store.ts'
import type { ToolResult } from '../../../src/core/tool-result.ts'
import { type Clauses, NUL, refuses, UNICODE, until } from './contract-store.ts'

const claim = (more: Partial<OnceClaim> = {}): OnceClaim => ({
  tenant: 'acme',
  caller: 'key-1',
  key: 'order-17',
  fingerprint: 'pay 10',
  expiresAt: Date.now() + 3_600_000,
  ...more,
})

const result: ToolResult = {
  success: true,
  result: { said: UNICODE, nul: NUL, half: '\uDC00', nothing: null, list: [1.5, -0.25, []] },
  tool_name: 'pay',
  execution_time_ms: 12.5,
}

const failure: ToolResult = {
  success: false,
  error: UNICODE,
  error_code: 'EXECUTION_ERROR',
  tool_name: 'pay',
  execution_time_ms: 1,
  outcome: 'unknown',
}

export const onceClauses: Clauses = {
  'once: the first is fresh, the next sees it running, and then its answer': async (store) => {
    const [one, other] = await store.openTwo()
    assert.deepEqual(await one.once.claim(claim()), { state: 'fresh' })
    assert.deepEqual(await one.once.claim(claim()), { state: 'running' })
    assert.deepEqual(await other.once.claim(claim()), { state: 'running' })
    await one.once.settle(claim(), result)
    assert.deepEqual(await one.once.claim(claim()), { state: 'done', result })
    assert.deepEqual(await other.once.claim(claim()), { state: 'done', result })
  },

  'once: looking at a key claims nothing': async (store) => {
    const [one, other] = await store.openTwo()
    const { fingerprint: _any, ...key } = claim()
    assert.deepEqual(await one.once.look(key), { state: 'fresh' })
    assert.deepEqual(await one.once.claim(claim()), { state: 'fresh' })
    for (const { once } of [one, other]) assert.deepEqual(await once.look(claim()), { state: 'running' })
    assert.deepEqual(await other.once.look(claim({ fingerprint: 'pay 11' })), { state: 'other' })
    await one.once.settle(claim(), result)
    for (const { once } of [one, other]) assert.deepEqual(await once.look(key), { state: 'done', result })
    for (const strange of [{ caller: 'key-2' }, { tenant: 'other' }]) {
      assert.deepEqual(await one.once.look({ ...key, ...strange }), { state: 'fresh' })
    }
    assert.deepEqual(await one.once.claim(claim({ key: 'old', expiresAt: Date.now() - 1 })), { state: 'fresh' })
    assert.deepEqual(await one.once.look(claim({ key: 'old' })), { state: 'fresh' })
  },

  'once: a failure is an answer too': async (store) => {
    const { once } = await store.open()
    await once.claim(claim())
    await once.settle(claim(), failure)
    assert.deepEqual(await once.claim(claim()), { state: 'done', result: failure })
  },

  'once: of many that claim a key at once exactly one is fresh': async (store) => {
    const both = await store.openTwo()
    for (let round = 0; round < 10; round++) {
      const claims = Array.from({ length: 8 }, (_, index) =>
        (both[index % 2] as (typeof both)[0]).once.claim(claim({ key: `round-${round}` })),
      )
      const states = (await Promise.all(claims)).map(({ state }) => state)
      assert.deepEqual(states.toSorted(), ['fresh', ...Array.from({ length: 7 }, () => 'running')])
    }
  },

  'once: a key for something else is another, before and after the answer': async (store) => {
    const { once } = await store.open()
    await once.claim(claim())
    assert.deepEqual(await once.claim(claim({ fingerprint: 'pay 11' })), { state: 'other' })
    await once.settle(claim({ fingerprint: 'pay 11' }), failure)
    await once.release(claim({ fingerprint: 'pay 11' }))
    assert.deepEqual(await once.claim(claim()), { state: 'running' })
    await once.settle(claim(), result)
    assert.deepEqual(await once.claim(claim({ fingerprint: 'pay 11' })), { state: 'other' })
  },

  'once: a key is one of its tenant and caller': async (store) => {
    const { once } = await store.open()
    await once.claim(claim())
    await once.settle(claim(), result)
    for (const more of [{ tenant: 'other' }, { caller: 'key-2' }, { key: 'order-18' }, { key: UNICODE }]) {
      assert.deepEqual(await once.claim(claim(more)), { state: 'fresh' })
      assert.deepEqual(await once.claim(claim(more)), { state: 'running' })
    }
    assert.deepEqual(await once.claim(claim()), { state: 'done', result })
  },

  'once: a key that was released is free, and an answer stays': async (store) => {
    const { once } = await store.open()
    await once.claim(claim())
    await once.release(claim())
    assert.deepEqual(await once.claim(claim({ fingerprint: 'pay 12' })), { state: 'fresh' })
    await once.settle(claim({ fingerprint: 'pay 12' }), result)
    await once.release(claim({ fingerprint: 'pay 12' }))
    assert.deepEqual(await once.claim(claim({ fingerprint: 'pay 12' })), { state: 'done', result })
  },

  'once: an expired claim does not count': async (store) => {
    const { once } = await store.open()
    const past = claim({ expiresAt: Date.now() - 1 })
    assert.deepEqual(await once.claim(past), { state: 'fresh' })
    assert.deepEqual(await once.claim(past), { state: 'fresh' })
    await once.settle(past, result)
    assert.deepEqual(await once.claim(claim({ fingerprint: 'pay 11' })), { state: 'fresh' })
    assert.deepEqual(await once.claim(claim()), { state: 'other' })
  },

  'once: a late result does not change the claim of another': async (store) => {
    const [one, other] = await store.openTwo()
    const past = claim({ expiresAt: Date.now() - 1 })
    await one.once.claim(past)
    assert.deepEqual(await other.once.claim(claim()), { state: 'fresh' })
    await one.once.release(past)
    await one.once.settle(past, failure)
    assert.deepEqual(await one.once.claim(claim()), { state: 'running' })
    await other.once.settle(claim(), result)
    assert.deepEqual(await one.once.claim(claim()), { state: 'done', result })
  },

  'once: an unclaimed key cannot be settled or released': async (store) => {
    const { once } = await store.open()
    await once.settle(claim(), result)
    await once.release(claim())
    assert.deepEqual(await once.claim(claim()), { state: 'fresh' })
  },

  'once: the claims of an instance that was closed are lost, its answers are not': async (store) => {
    const [one, other] = await store.openTwo()
    await one.once.claim(claim({ key: 'running' }))
    await one.once.claim(claim({ key: 'done' }))
    await one.once.settle(claim({ key: 'done' }), result)
    await one.close()
    assert.deepEqual(await other.once.claim(claim({ key: 'running' })), { state: 'lost' })
    assert.deepEqual(await other.once.claim(claim({ key: 'running' })), { state: 'lost' })
    assert.deepEqual(await other.once.claim(claim({ key: 'done' })), { state: 'done', result })
  },

  'once: the claims of an instance that fell silent are lost': async (store) => {
    const [silent, watchful] = await store.openSilentAndWatchful()
    await silent.once.claim(claim())
    await until('a lost claim', async () => (await watchful.once.claim(claim())).state === 'lost')
    assert.deepEqual(await silent.once.claim(claim()), { state: 'running' })
    await silent.once.settle(claim(), result)
    assert.deepEqual(await watchful.once.claim(claim()), { state: 'done', result })
  },

  'once: NUL in a key is refused': async (store) => {
    const { once } = await store.open()
    for (const more of [{ tenant: NUL }, { caller: NUL }, { key: NUL }, { fingerprint: NUL }]) {
      await refuses(once.claim(claim(more)))
    }
    await refuses(once.settle(claim({ key: NUL }), result))
    await refuses(once.release(claim({ key: NUL })))
  },
}
