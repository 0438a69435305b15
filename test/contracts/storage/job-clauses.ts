import assert from 'node:assert/strict'
import type { Job, NewJob } from '../../../src/core/storage/job-store.ts'
import { DEFAULT_QUOTA } from '../../../src/core/storage/quota.ts'
import type { ToolResult } from '../../../src/core/tool-result.ts'
import { type Clauses, exceeds, NUL, refuses, UNICODE, until } from './contract-store.ts'

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()

const job = (id: string, more: Partial<NewJob> = {}): NewJob => ({
  id,
  tenant: 'acme',
  caller: 'key-1',
  tool: 'ingest',
  params: { text: UNICODE, nul: NUL, list: [null, 1.5] },
  timeout_ms: 60_000,
  created_at: at(0),
  ...more,
})

const queued = {
  state: 'queued',
  started_at: null,
  ended_at: null,
  progress: null,
  result: null,
  server: null,
} as const
const result: ToolResult = { success: true, result: [UNICODE, NUL], tool_name: 'ingest', execution_time_ms: 2 }

export const jobClauses: Clauses = {
  'jobs: a job is stored unchanged, for its tenant': async (store) => {
    const [one, other] = await store.openTwo()
    await one.jobs.create(job('one'))
    await one.jobs.create(job('two', { caller: null, params: [] }))
    assert.deepEqual(await other.jobs.get('acme', 'one'), { ...job('one'), ...queued, attempts: 0 })
    assert.deepEqual(await other.jobs.get('acme', 'two'), {
      ...job('two', { caller: null, params: [] }),
      ...queued,
      attempts: 0,
    })
    assert.equal(await one.jobs.get('other', 'one'), undefined)
    assert.equal(await one.jobs.get('acme', 'nothing'), undefined)
    assert.deepEqual([await one.jobs.tenantOf('one'), await one.jobs.tenantOf('nothing')], ['acme', undefined])
  },

  'jobs: a second one with the same id is refused, and the first stays': async (store) => {
    const { jobs } = await store.open()
    await jobs.create(job('one'))
    await refuses(jobs.create(job('one', { tenant: 'other' })))
    assert.equal((await jobs.get('acme', 'one'))?.state, 'queued')
    assert.equal(await jobs.get('other', 'one'), undefined)
  },

  'jobs: the newest of a tenant are listed first': async (store) => {
    const { jobs } = await store.open()
    for (const [id, minute] of [
      ['a', 1],
      ['c', 2],
      ['b', 2],
      ['d', 0],
    ] as const) {
      await jobs.create(job(id, { created_at: at(minute) }))
    }
    await jobs.create(job('x', { tenant: 'other', created_at: at(9) }))
    const ids = async (tenant: string, limit: number) => (await jobs.list(tenant, limit)).map(({ id }) => id)
    assert.deepEqual(await ids('acme', 10), ['c', 'b', 'a', 'd'])
    assert.deepEqual(await ids('acme', 2), ['c', 'b'])
    assert.deepEqual(await ids('other', 10), ['x'])
    assert.deepEqual(await ids('nobody', 10), [])
    // Parameters and results may be large.
    assert.deepEqual((await jobs.list('other', 1))[0], { ...(await jobs.get('other', 'x')), params: null })
  },

  'jobs: those of one caller can be listed alone': async (store) => {
    const { jobs } = await store.open()
    for (const [index, caller] of ['ada', 'bob', null, 'ada', 'bob'].entries()) {
      await jobs.create(job(`${caller}-${index}`, { caller, created_at: at(index) }))
    }
    await jobs.create(job('x', { tenant: 'other', caller: 'ada' }))
    const ids = async (limit: number, caller?: string) => (await jobs.list('acme', limit, caller)).map(({ id }) => id)
    assert.deepEqual(await ids(10, 'ada'), ['ada-3', 'ada-0'])
    assert.deepEqual(await ids(1, 'ada'), ['ada-3'])
    assert.deepEqual(await ids(10, 'nobody'), [])
    assert.equal((await ids(10)).length, 5)
  },

  'jobs: those of one tool can be listed alone': async (store) => {
    const { jobs } = await store.open()
    for (const [index, tool] of ['look', 'listen', 'look'].entries()) {
      await jobs.create(job(`${tool}-${index}`, { tool, caller: index === 0 ? null : 'ada', created_at: at(index) }))
    }
    const ids = async (caller?: string, tool?: string) =>
      (await jobs.list('acme', 10, caller, tool)).map(({ id }) => id)
    assert.deepEqual(await ids(undefined, 'look'), ['look-2', 'look-0'])
    assert.deepEqual(await ids('ada', 'look'), ['look-2'])
    assert.deepEqual(await ids(undefined, 'smell'), [])
    const long: ToolResult = { ...result, result: 'x'.repeat(20_000) }
    for (const [id, ended] of [
      ['long', long],
      ['short', result],
    ] as const) {
      await jobs.create(job(id, { tool: 'task', created_at: at(9) }))
      await jobs.end(id, 'done', ended, at(10))
    }
    const listed = await jobs.list('acme', 10, undefined, 'task')
    assert.deepEqual(
      new Map(listed.map((one) => [one.id, one.result])),
      new Map([
        ['short', result],
        ['long', null],
      ]),
    )
  },

  'jobs: of many that take a job exactly one gets it': async (store) => {
    const both = await store.openTwo()
    for (let round = 0; round < 10; round++) {
      await both[0].jobs.create(job(`job-${round}`))
      const taken = Array.from({ length: 6 }, (_, index) =>
        (both[index % 2] as (typeof both)[0]).jobs.take(`job-${round}`, at(1)),
      )
      const given = (await Promise.all(taken)).filter((each) => each !== undefined)
      assert.equal(given.length, 1)
      assert.deepEqual(given[0], await both[0].jobs.get('acme', `job-${round}`))
    }
  },

  'jobs: the server that takes a job is recorded': async (store) => {
    const { jobs } = await store.open({ instance: 'the-taker' })
    await jobs.create(job('one'))
    const taken = { ...job('one'), ...queued, state: 'running', started_at: at(1), server: 'the-taker', attempts: 1 }
    assert.deepEqual(await jobs.take('one', at(1)), taken)
    assert.deepEqual(await jobs.get('acme', 'one'), taken)
    assert.equal(await jobs.take('one', at(2)), undefined)
    assert.equal(await jobs.take('nothing', at(2)), undefined)
  },

  'jobs: those that wait are given oldest first, of all tenants': async (store) => {
    const [one, other] = await store.openTwo()
    for (const [id, minute] of [
      ['b', 2],
      ['a', 2],
      ['c', 1],
      ['taken', 0],
      ['ended', 0],
    ] as const) {
      await one.jobs.create(job(id, { created_at: at(minute), tenant: `tenant of ${id}`, caller: `key of ${id}` }))
    }
    await one.jobs.take('taken', at(3))
    await one.jobs.end('ended', 'cancelled', result, at(3))
    const expected = ['c', 'a', 'b'].map((id) => ({ id, tenant: `tenant of ${id}` }))
    assert.deepEqual(await other.jobs.waiting(10), expected)
    assert.deepEqual(await other.jobs.waiting(2), expected.slice(0, 2))
    assert.deepEqual(await other.jobs.waiting(10, 'key of a'), expected.slice(1, 2))
    assert.deepEqual(await other.jobs.waiting(10, 'key of taken'), [])
  },

  'jobs: those that wait are given in turns, so that no tenant waits for all jobs of another': async (store) => {
    const { jobs } = await store.open()
    for (let minute = 0; minute < 5; minute++) await jobs.create(job(`greedy-${minute}`, { created_at: at(minute) }))
    for (const minute of [5, 6])
      await jobs.create(job(`modest-${minute}`, { created_at: at(minute), tenant: 'modest' }))
    const waiting = (await jobs.waiting(4)).map(({ id }) => id)
    assert.deepEqual(waiting, ['greedy-0', 'modest-5', 'greedy-1', 'modest-6'])
  },

  'jobs: those of an instance that was closed can be taken': async (store) => {
    const [one, other] = await store.openTwo()
    await one.jobs.create(job('one'))
    await one.jobs.take('one', at(1))
    assert.deepEqual(await other.jobs.waiting(10), [])
    await one.close()
    assert.deepEqual(await other.jobs.waiting(10), [{ id: 'one', tenant: 'acme' }])
    const taken = await other.jobs.take('one', at(2))
    assert.deepEqual([taken?.server, taken?.attempts, taken?.started_at], ['instance-2', 2, at(2)])
  },

  'jobs: those of an instance that fell silent can be taken, once': async (store) => {
    const [silent, watchful] = await store.openSilentAndWatchful()
    await silent.jobs.create(job('one'))
    await silent.jobs.create(job('ended'))
    await silent.jobs.take('one', at(1))
    await silent.jobs.take('ended', at(1))
    await silent.jobs.end('ended', 'done', result, at(1))
    await until('a job that waits', async () => (await watchful.jobs.waiting(10)).length > 0)
    assert.deepEqual(await watchful.jobs.waiting(10), [{ id: 'one', tenant: 'acme' }])
    const taken = await Promise.all(Array.from({ length: 4 }, () => watchful.jobs.take('one', at(2))))
    assert.equal(taken.filter((each) => each !== undefined).length, 1)
    assert.equal(await silent.jobs.take('one', at(3)), undefined)
    assert.equal(await watchful.jobs.take('ended', at(2)), undefined)
  },

  'jobs: a tenant has at most as many that wait or run as its quota says': async (store) => {
    const { jobs } = await store.open()
    const quota = { ...DEFAULT_QUOTA, queued_jobs: 2 }
    await jobs.create(job('waits'), quota)
    await jobs.create(job('runs'), quota)
    await jobs.take('runs', at(1))
    await exceeds('queued_jobs', jobs.create(job('more'), quota))
    assert.equal(await jobs.get('acme', 'more'), undefined)
    await jobs.create(job('other', { tenant: 'other' }), quota)
    await jobs.end('runs', 'done', result, at(2))
    await jobs.create(job('more'), quota)
  },

  'jobs: their parameters and results count as storage': async (store) => {
    const { jobs } = await store.open()
    const params = 'x'.repeat(98)
    const quota = { ...DEFAULT_QUOTA, storage_bytes: 300 }
    await jobs.create(job('one', { params }), quota)
    await jobs.create(job('two', { params }), quota)
    await jobs.end('one', 'done', { ...result, result: 'y'.repeat(100) }, at(1))
    await exceeds('storage_bytes', jobs.create(job('three', { params }), quota))
    await jobs.create(job('three', { params, tenant: 'other' }), quota)
  },

  'jobs: a job ends once': async (store) => {
    const [one, other] = await store.openTwo()
    await one.jobs.create(job('one'))
    await one.jobs.create(job('never taken'))
    await one.jobs.take('one', at(1))
    const cancelled: ToolResult = { ...result, success: false, error: 'x', error_code: 'CANCELLED' }
    const ended = await Promise.all([
      one.jobs.end('one', 'done', result, at(2)),
      other.jobs.end('one', 'cancelled', cancelled, at(3)),
    ])
    assert.deepEqual(ended.toSorted(), [false, true])
    const whole = (await one.jobs.get('acme', 'one')) as Job
    assert.deepEqual(await other.jobs.get('acme', 'one', 'result'), { ...whole, params: null })
    assert.deepEqual(await other.jobs.get('acme', 'one', 'state'), { ...whole, params: null, result: null })
    const { state, result: kept, ended_at } = whole
    assert.deepEqual([state, kept, ended_at], ended[0] ? ['done', result, at(2)] : ['cancelled', cancelled, at(3)])
    assert.equal(await one.jobs.end('one', 'done', result, at(4)), false)
    assert.equal(await one.jobs.end('never taken', 'cancelled', cancelled, at(2)), true)
    assert.equal(await one.jobs.take('never taken', at(3)), undefined)
    assert.equal(await one.jobs.end('nothing', 'done', result, at(4)), false)
    assert.deepEqual(await other.jobs.waiting(10), [])
  },

  'jobs: the last progress is stored, and none after the end': async (store) => {
    const { jobs } = await store.open()
    await jobs.create(job('one'))
    await jobs.take('one', at(1))
    await jobs.progress('one', { percent: 10 })
    await jobs.progress('one', UNICODE)
    assert.equal((await jobs.get('acme', 'one'))?.progress, UNICODE)
    await jobs.end('one', 'done', result, at(2))
    await jobs.progress('one', 'late')
    await jobs.progress('nothing', 'late')
    assert.equal((await jobs.get('acme', 'one'))?.progress, UNICODE)
  },

  'jobs: NUL in a name is refused': async (store) => {
    const { jobs } = await store.open()
    for (const more of [{ tenant: NUL }, { caller: NUL }, { tool: NUL }]) await refuses(jobs.create(job('one', more)))
    await refuses(jobs.create(job(NUL)))
    await refuses(jobs.get('acme', NUL))
    await refuses(jobs.list(NUL, 10))
    assert.deepEqual(await jobs.list('acme', 10), [])
  },
}
