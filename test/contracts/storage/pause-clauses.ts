import assert from 'node:assert/strict'
import type { PauseDecision, PauseRequest } from '../../../src/core/storage/pause-store.ts'
import { type Clauses, NUL, UNICODE } from './contract-store.ts'

const NOW = 1_800_000_000_000

export const pauseRequest = (id: string, more: Partial<PauseRequest> = {}): PauseRequest => ({
  id,
  kind: 'approval',
  tenant: 'acme',
  caller: 'key-1',
  tool: 'pay',
  version: '0.0.0',
  params_hash: id,
  params: { text: UNICODE, nul: NUL, list: [null, 1.5] },
  run_id: null,
  call_id: null,
  root_key: null,
  root_hash: null,
  subject: UNICODE,
  definitions: 'd',
  requested_at: NOW,
  expires_at: NOW + 1_000,
  ...more,
})

export const approve = (more: Partial<PauseDecision> = {}): PauseDecision => ({
  decision: 'approve',
  decided_params: null,
  decided_by: 'key-2',
  decided_by_name: UNICODE,
  decided_at: NOW + 10,
  reason: null,
  expires_at: NOW + 5_000,
  ...more,
})

const undecided = {
  decision: null,
  decided_params: null,
  decided_by: null,
  decided_by_name: null,
  decided_at: null,
  reason: null,
  begun_at: null,
}

export const pauseClauses: Clauses = {
  'pauses: a request is stored unchanged, for its tenant': async (store) => {
    const [one, other] = await store.openTwo()
    const request = pauseRequest('one', { run_id: 'run', call_id: 'call' })
    assert.deepEqual(await one.pauses.ask(request, 1), { pause: { ...request, ...undecided }, isNew: true })
    assert.deepEqual(await other.pauses.get('acme', 'one'), { ...request, ...undecided })
    assert.equal(await other.pauses.get('other', 'one'), undefined)
    assert.deepEqual([await one.pauses.tenantOf('one'), await one.pauses.tenantOf('none')], ['acme', undefined])
  },

  'pauses: identical calls that ask at once share one request': async (store) => {
    const both = await store.openTwo()
    const asked = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        (both[index % 2] as (typeof both)[0]).pauses.ask(pauseRequest(`p${index}`, { params_hash: 'same' }), 1),
      ),
    )
    assert.equal(new Set(asked.map(({ pause }) => pause.id)).size, 1)
    assert.equal(asked.filter(({ isNew }) => isNew).length, 1)
  },

  'pauses: a call of another caller, tool, version or tenant has its own request': async (store) => {
    const { pauses } = await store.open()
    await pauses.ask(pauseRequest('first', { params_hash: 'same' }), 9)
    const others = [
      { caller: 'key-2' },
      { tool: 'refund' },
      { version: '1.0.0' },
      { tenant: 'other' },
      { run_id: 'r' },
      { root_hash: 'h' },
      { definitions: 'e' },
      { definitions: null },
    ]
    for (const [index, more] of others.entries()) {
      const request = pauseRequest(`p${index}`, { params_hash: 'same', ...more })
      assert.equal((await pauses.ask(request, 9)).isNew, true, JSON.stringify(more))
    }
  },

  'pauses: of many callers that ask at once, none exceeds its limit': async (store) => {
    const both = await store.openTwo()
    const asked = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) =>
        (both[index % 2] as (typeof both)[0]).pauses.ask(pauseRequest(`p${index}`), 3),
      ),
    )
    assert.equal(asked.filter(({ status }) => status === 'fulfilled').length, 3)
    const { pauses } = both[0]
    await assert.rejects(pauses.ask(pauseRequest('more'), 3), { code: 'RATE_LIMITED', message: /3 pending approvals/ })
    // Decided and expired requests count no more.
    const [first] = (await pauses.list({ tenant: 'acme', now: NOW, limit: 1 })).pauses
    await pauses.decide('acme', first?.id ?? '', approve())
    await pauses.ask(pauseRequest('more'), 3)
    await pauses.ask(pauseRequest('later', { requested_at: NOW + 1_000, expires_at: NOW + 2_000 }), 3)
    assert.equal(await pauses.countPending('acme', NOW), 4)
    assert.equal(await pauses.countPending('acme', NOW + 1_000), 1)
    assert.equal(await pauses.countPending('other', NOW), 0)
  },

  'pauses: exactly one of two decisions counts': async (store) => {
    const [one, other] = await store.openTwo()
    await one.pauses.ask(pauseRequest('one'), 9)
    const changed = { decided_params: { text: UNICODE, nul: NUL }, reason: UNICODE }
    const made = await Promise.all([
      one.pauses.decide('acme', 'one', approve(changed)),
      other.pauses.decide('acme', 'one', approve(changed)),
    ])
    assert.deepEqual(made.toSorted(), [false, true])
    assert.deepEqual(await one.pauses.get('acme', 'one'), {
      ...pauseRequest('one'),
      ...undecided,
      ...approve(changed),
    })
  },

  'pauses: neither an expired request nor one of another tenant can be decided': async (store) => {
    const { pauses } = await store.open()
    await pauses.ask(pauseRequest('one'), 9)
    assert.equal(await pauses.decide('other', 'one', approve()), false)
    assert.equal(await pauses.decide('acme', 'one', approve({ decided_at: NOW + 1_000 })), false)
    assert.equal(await pauses.decide('acme', 'none', approve()), false)
    assert.equal((await pauses.get('acme', 'one'))?.decision, null)
  },

  'pauses: what a call has done is stored with its newest pause, for its caller': async (store) => {
    const [{ pauses }, other] = await store.openTwo()
    const root = { root_key: 'key', root_hash: 'hash' }
    await pauses.ask(pauseRequest('one', root), 9)
    await pauses.ask(pauseRequest('two', { ...root, caller: 'key-2' }), 9)
    const open = async (now: number, caller = 'key-1') =>
      (await other.pauses.openProgress('acme', caller, 'hash', now))?.progress
    assert.deepEqual([await pauses.progress('acme', 'key-1', 'key'), await open(NOW)], [undefined, undefined])
    await pauses.saveProgress('acme', 'key-1', 'key', UNICODE)
    assert.deepEqual(await other.pauses.progress('acme', 'key-1', 'key'), { ...root, progress: UNICODE })
    assert.deepEqual(
      [await open(NOW), await open(NOW + 1_000), await open(NOW, 'key-2')],
      [UNICODE, undefined, undefined],
    )
    assert.equal(await pauses.progress('other', 'key-1', 'key'), undefined)
    assert.equal('progress' in Object(await pauses.get('acme', 'one')), false)
    await pauses.ask(pauseRequest('later', { ...root, requested_at: NOW + 1 }), 9)
    await pauses.saveProgress('acme', 'key-1', 'key', 'later')
    assert.equal((await pauses.progress('acme', 'key-1', 'key'))?.progress, 'later')
    for (const id of ['one', 'later']) {
      await pauses.decide('acme', id, approve())
      await pauses.begin('acme', id, NOW)
    }
    assert.equal(await open(NOW), undefined)
    assert.equal((await pauses.progress('acme', 'key-1', 'key'))?.progress, 'later')
  },

  'pauses: an approved call begins once, and is open until then': async (store) => {
    const { pauses } = await store.open()
    await pauses.ask(pauseRequest('one'), 9)
    const open = async (now: number) => (await pauses.open(pauseRequest('one'), now))?.id
    assert.equal(await open(NOW), 'one')
    assert.equal(await open(NOW + 1_000), undefined)
    assert.equal(await pauses.begin('acme', 'one', NOW), false)
    await pauses.decide('acme', 'one', approve())
    assert.equal(await open(NOW + 4_999), 'one')
    const begun = await Promise.all([pauses.begin('acme', 'one', NOW), pauses.begin('acme', 'one', NOW)])
    assert.deepEqual(begun.toSorted(), [false, true])
    assert.equal(await open(NOW), undefined)
    await pauses.ask(pauseRequest('two'), 9)
    await pauses.decide('acme', 'two', approve({ decision: 'reject' }))
    assert.equal(await pauses.open(pauseRequest('two'), NOW), undefined)
  },

  'pauses: lists have pages, newest first, of one status': async (store) => {
    const { pauses } = await store.open()
    for (const [index, id] of ['a', 'b', 'c', 'd'].entries()) {
      await pauses.ask(pauseRequest(id, { requested_at: NOW + index, expires_at: NOW + 1_000 + index }), 9)
    }
    await pauses.decide('acme', 'c', approve({ decision: 'reject' }))
    const ids = async (more: object) => {
      const { pauses: page, next } = await pauses.list({ tenant: 'acme', now: NOW + 1_000, limit: 2, ...more })
      return { ids: page.map(({ id }) => id), next }
    }
    const first = await ids({})
    assert.deepEqual(first.ids, ['d', 'c'])
    assert.deepEqual(await ids({ cursor: first.next }), { ids: ['b', 'a'], next: undefined })
    assert.deepEqual((await ids({ status: 'pending' })).ids, ['d', 'b'])
    assert.deepEqual((await ids({ status: 'expired' })).ids, ['a'])
    assert.deepEqual((await ids({ status: 'rejected' })).ids, ['c'])
    assert.deepEqual((await ids({ status: 'approved' })).ids, [])
    assert.deepEqual((await ids({ tenant: 'other' })).ids, [])
    assert.deepEqual((await ids({ tenant: undefined })).ids, ['d', 'c'])
    await assert.rejects(ids({ cursor: 'nonsense' }), /cursor/)
  },
}
