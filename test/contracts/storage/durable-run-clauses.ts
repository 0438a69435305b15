import assert from 'node:assert/strict'
import type { DurableEnd, DurableStep, NewDurableRun } from '../../../src/core/storage/durable-run-store.ts'
import { DEFAULT_QUOTA } from '../../../src/core/storage/quota.ts'
import { type Clauses, UNICODE } from './contract-store.ts'
import { countedCommits } from './counted-commits.ts'
import { approve, pauseRequest } from './pause-clauses.ts'

const NOW = 1_800_000_000_000

const run = (id: string, more: Partial<NewDurableRun> = {}): NewDurableRun => ({
  id,
  tenant: 'acme',
  caller: 'key-1',
  model: 'scripted:turns',
  fingerprint: 'f',
  request: UNICODE,
  created_at: NOW,
  ...more,
})
const DUE = [{ id: 'r', tenant: 'acme' }]
const step = (data: string): DurableStep => ({ kind: 'answer', data, shown: `[${data}]` })
const waits = (more: Partial<DurableEnd> = {}): DurableEnd => ({ status: 'waiting', answer: 'a', at: NOW, ...more })

export const durableRunClauses: Clauses = {
  'durable runs: a run is stored unchanged, once, for its tenant': async (store) => {
    const [one, other] = [await store.open(), await store.open()]
    const both = await Promise.all([one.durableRuns.create(run('r')), other.durableRuns.create(run('r'))])
    assert.equal(both.filter((created) => created !== undefined).length, 1)
    const stored = {
      ...run('r'),
      status: 'running',
      fence: 1,
      resumes: 0,
      answer: null,
      woken_at: null,
      ended_at: null,
    }
    assert.deepEqual(await one.durableRuns.get('acme', 'r'), stored)
    assert.equal(await one.durableRuns.get('other', 'r'), undefined)
    assert.equal(await one.durableRuns.tenantOf('r'), 'acme')
  },

  'durable runs: those that have not ended are listed, newest first': async (store) => {
    const { durableRuns } = await store.open()
    await durableRuns.create(run('old'))
    await durableRuns.create(run('new', { created_at: NOW + 1, model: 'other:m', caller: 'key-2' }))
    await durableRuns.create(run('waits', { created_at: NOW + 2 }), undefined, waits())
    await durableRuns.create(run('over', { created_at: NOW + 3 }))
    await durableRuns.cancel('acme', 'over', NOW)
    await durableRuns.create(run('elsewhere', { tenant: 'other' }))
    const ids = async (more: object = {}) =>
      (await durableRuns.open({ tenant: 'acme', limit: 10, ...more })).map(({ id }) => id)
    assert.deepEqual(await ids(), ['waits', 'new', 'old'])
    assert.deepEqual(await ids({ limit: 1 }), ['waits'])
    assert.deepEqual(await ids({ model: 'other:m' }), ['new'])
    assert.deepEqual(await ids({ caller: 'key-1' }), ['waits', 'old'])
  },

  'durable runs: steps keep their order, and their data is apart': async (store) => {
    const { durableRuns } = await store.open()
    await durableRuns.create(run('r'))
    assert.equal(await durableRuns.append('r', 1, [step('1'), step('2')], NOW), true)
    assert.equal(await durableRuns.append('r', 1, [step(UNICODE)], NOW), true)
    assert.deepEqual(await durableRuns.data('r'), ['1', '2', UNICODE])
    assert.deepEqual(await durableRuns.shown('acme', 'r', 1), [
      { kind: 'answer', shown: '[2]' },
      { kind: 'answer', shown: `[${UNICODE}]` },
    ])
    assert.deepEqual(await durableRuns.shown('other', 'r', 0), [])
  },

  'durable runs: a turn is two commits, with the keys of its calls inside, and one without calls': async (store) => {
    const storage = await store.open()
    for (const calls of [['look'], ['write'], ['look', 'write'], ['write', 'write', 'write'], ['gone'], ['put']]) {
      const commits = await countedCommits(storage, [calls, calls])
      const begins = calls.includes('write') ? 'begin' : 'append'
      assert.deepEqual(commits, ['create', begins, 'append', begins, 'append', 'end'], calls.join())
    }
    // A call that writes without a key waits until the answer is stored.
    const commits = await countedCommits(storage, [['put', 'write']])
    assert.deepEqual(commits, ['create', 'append', 'begin', 'append', 'end'])
    // The result of a write does not wait for other calls: it would be lost with the server.
    const slow = await countedCommits(storage, [['write', 'slow']])
    assert.deepEqual(slow, ['create', 'begin', 'settle', 'append', 'end'])
  },

  'durable runs: a step and the keys of its calls are stored together, by the server that owns the run': async (
    store,
  ) => {
    const { durableRuns, once } = await store.open()
    await durableRuns.create(run('r'))
    const claim = (key: string) => ({ tenant: 'acme', caller: 'k', key, fingerprint: 'f', expiresAt: NOW + 99 })
    const result = { success: true, result: 1, tool_name: 'pay', execution_time_ms: 1 } as const
    const claims = [claim('a'), claim('b')]
    assert.equal(await durableRuns.begin('r', 2, step('late'), NOW, claims), undefined)
    assert.equal(await durableRuns.begin('r', 2, undefined, NOW, claims), undefined)
    assert.deepEqual(await once.look(claim('a')), { state: 'fresh' })
    assert.deepEqual(await durableRuns.begin('r', 1, step('1'), NOW, claims), [{ state: 'fresh' }, { state: 'fresh' }])
    const again = await durableRuns.begin('r', 1, step('2'), NOW, [claim('a'), claim('c')])
    assert.deepEqual(again, [{ state: 'running' }, { state: 'fresh' }])
    assert.equal(await durableRuns.append('r', 2, [step('late')], NOW, [{ claim: claim('a'), result }]), false)
    assert.deepEqual(await once.claim(claim('a')), { state: 'running' })
    assert.equal(await durableRuns.append('r', 1, [step('3')], NOW, [{ claim: claim('a'), result }]), true)
    assert.deepEqual(await once.claim(claim('a')), { state: 'done', result })
    assert.deepEqual(await durableRuns.begin('r', 1, undefined, NOW, [claim('d')]), [{ state: 'fresh' }])
    assert.deepEqual(await durableRuns.data('r'), ['1', '2', '3'])
    await durableRuns.cancel('acme', 'r', NOW)
    assert.equal(await durableRuns.begin('r', 1, undefined, NOW, [claim('e')]), undefined)
  },

  'durable runs: of two servers that take a run, one gets it, and the one before cannot write': async (store) => {
    const [one, other] = [await store.open(), await store.open()]
    await one.durableRuns.create(run('r'))
    assert.deepEqual([await one.durableRuns.owned(), await other.durableRuns.owned()], [['r'], []])
    assert.deepEqual(await other.durableRuns.due(NOW, 9), [])
    assert.equal(await other.durableRuns.take('r', NOW), undefined)
    await one.durableRuns.release('r', 1)
    assert.deepEqual([await one.durableRuns.owned(), await other.durableRuns.due(NOW, 9)], [[], DUE])
    const taken = await Promise.all([one.durableRuns.take('r', NOW), other.durableRuns.take('r', NOW)])
    assert.deepEqual(
      taken.filter((got) => got !== undefined).map(({ fence, resumes }) => [fence, resumes]),
      [[2, 1]],
    )
    assert.equal(await one.durableRuns.append('r', 1, [step('late')], NOW), false)
    assert.equal(await one.durableRuns.end('r', 1, { status: 'finished', answer: null, at: NOW }), false)
    assert.equal(await other.durableRuns.append('r', 2, [step('next')], NOW), true)
    assert.deepEqual(await one.durableRuns.data('r'), ['next'])
    assert.equal((await one.durableRuns.get('acme', 'r'))?.resumes, 0)
    assert.equal(await other.durableRuns.end('r', 2, { status: 'finished', answer: 'b', at: NOW + 1 }), true)
    const { status, answer, ended_at } = (await one.durableRuns.get('acme', 'r')) ?? {}
    assert.deepEqual([status, answer, ended_at], ['finished', 'b', NOW + 1])
  },

  'durable runs: taking a run counts, unless nothing was tried': async (store) => {
    const { durableRuns } = await store.open()
    await durableRuns.create(run('r'))
    await durableRuns.release('r', 1)
    for (const [untried, fence, resumes] of [
      [true, 2, 1],
      [false, 3, 1],
      [false, 4, 2],
    ] as const) {
      const taken = await durableRuns.take('r', NOW)
      assert.deepEqual([taken?.fence, taken?.resumes], [fence, resumes])
      await durableRuns.release('r', fence, untried)
    }
  },

  'durable runs: a run waits until its last pause is decided or has expired': async (store) => {
    const { durableRuns, pauses } = await store.open()
    for (const [id, call_id] of [
      ['a', '1.0'],
      ['b', '1.1'],
    ] as const) {
      await pauses.ask(pauseRequest(id, { run_id: 'r', call_id }), 9)
    }
    assert.equal((await pauses.ask(pauseRequest('c', { run_id: 'r', call_id: '1.1' }), 9)).pause.id, 'b')
    await durableRuns.create(run('r'))
    assert.equal(await durableRuns.end('r', 1, waits({ steps: [step('1')] })), true)
    await pauses.decide('acme', 'a', approve())
    assert.deepEqual(await durableRuns.due(NOW + 999, 9), [])
    assert.deepEqual(await durableRuns.due(NOW + 1_000, 9), DUE)
    await pauses.decide('acme', 'b', approve({ decision: 'reject' }))
    assert.deepEqual(await durableRuns.due(NOW + 10, 9), DUE)
    assert.equal((await durableRuns.take('r', NOW + 10))?.fence, 2)
    assert.deepEqual(await durableRuns.due(NOW + 10, 9), [])
  },

  'durable runs: a run does not wait for the time of a pause that was decided': async (store) => {
    const { durableRuns, pauses } = await store.open()
    await pauses.ask(pauseRequest('soon', { run_id: 'r', call_id: '1.0' }), 9)
    await pauses.ask(pauseRequest('late', { run_id: 'r', call_id: '1.1', expires_at: NOW + 9_000 }), 9)
    await durableRuns.create(run('r'), undefined, waits())
    await pauses.decide('acme', 'late', approve())
    assert.deepEqual(await durableRuns.due(NOW + 999, 9), [])
    assert.deepEqual(await durableRuns.due(NOW + 1_000, 9), DUE)
  },

  'durable runs: a run whose pauses were decided before it waits goes on': async (store) => {
    const { durableRuns, pauses } = await store.open()
    await pauses.ask(pauseRequest('a', { run_id: 'r', call_id: '1.0' }), 9)
    await pauses.decide('acme', 'a', approve())
    await durableRuns.create(run('r'), undefined, waits({ steps: [step('1')], at: NOW + 20 }))
    assert.equal((await durableRuns.get('acme', 'r'))?.status, 'waiting')
    assert.deepEqual(await durableRuns.due(NOW + 20, 9), DUE)
  },

  'durable runs: tenants take turns with runs that are due': async (store) => {
    const { durableRuns } = await store.open()
    for (const [id, tenant] of [
      ['a1', 'acme'],
      ['a2', 'acme'],
      ['a3', 'acme'],
      ['b1', 'other'],
    ] as const) {
      await durableRuns.create(run(id, { tenant, created_at: NOW + (tenant === 'other' ? 9 : Number(id[1])) }))
      await durableRuns.release(id, 1)
    }
    assert.deepEqual(
      (await durableRuns.due(NOW, 3)).map(({ id }) => id),
      ['a1', 'b1', 'a2'],
    )
  },

  'durable runs: a cancelled run cannot be continued, and nobody is asked any longer': async (store) => {
    const { durableRuns, pauses } = await store.open()
    const root = { root_key: 'key', root_hash: 'hash' }
    const { pause } = await pauses.ask(pauseRequest('a', { run_id: 'r', call_id: '1.0', ...root }), 9)
    await pauses.saveProgress('acme', pause.caller, 'key', '{}')
    assert.notEqual(await pauses.progress('acme', pause.caller, 'key'), undefined)
    await durableRuns.create(run('r'), undefined, waits())
    assert.equal(await durableRuns.cancel('other', 'r', NOW), false)
    assert.equal(await durableRuns.cancel('acme', 'r', NOW + 1), true)
    assert.equal(await durableRuns.cancel('acme', 'r', NOW + 2), false)
    assert.equal(await pauses.countPending('acme', NOW + 1), 0)
    assert.equal(await pauses.progress('acme', pause.caller, 'key'), undefined)
    assert.deepEqual(await durableRuns.due(NOW + 9_999, 9), [])
    assert.equal((await durableRuns.get('acme', 'r'))?.status, 'cancelled')
  },

  'durable runs: a tenant has at most as many as its quota': async (store) => {
    const { durableRuns } = await store.open()
    const quota = { ...DEFAULT_QUOTA, durable_runs: 1 }
    await durableRuns.create(run('r'), quota)
    await assert.rejects(durableRuns.create(run('more'), quota), { code: 'RATE_LIMITED', message: /durable_runs/ })
    assert.equal(await durableRuns.get('acme', 'more'), undefined)
    await durableRuns.create(run('foreign', { tenant: 'other' }), quota)
    await durableRuns.end('r', 1, { status: 'finished', answer: null, at: NOW })
    assert.notEqual(await durableRuns.create(run('more'), quota), undefined)
  },

  'durable runs: their requests and steps count against the quota for bytes': async (store) => {
    const { durableRuns } = await store.open()
    const quota = { ...DEFAULT_QUOTA, storage_bytes: 300 }
    const create = (id: string) => durableRuns.create(run(id, { request: 'é'.repeat(60) }), quota)
    const exceeds = () => assert.rejects(create('more'), { code: 'RATE_LIMITED', message: /storage_bytes/ })
    await create('r')
    await durableRuns.append('r', 1, [step('x'.repeat(80))], NOW)
    await exceeds()
    await durableRuns.end('r', 1, { status: 'finished', answer: null, at: NOW })
    await exceeds()
  },
}
