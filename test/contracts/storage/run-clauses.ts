import assert from 'node:assert/strict'
import type { ListedRun, RunFilter, StoredRun } from '../../../src/core/storage/run-store.ts'
import { call } from '../../../src/storage/fixtures/call-entry.ts'
import type { Storage } from '../../../src/storage/sql/engine.ts'
import { type Clauses, NUL, refuses, UNICODE } from './contract-store.ts'

// Recent: what is older than it is kept is removed in the background.
const BASE = Math.floor(Date.now() / 1_000) * 1_000 - 60_000
const at = (second: number): string => new Date(BASE + second * 1_000).toISOString()

const run = (id: string, more: Partial<StoredRun> = {}): StoredRun => ({
  id,
  tenant: 'acme',
  caller: 'key-1',
  model: 'openai:gpt-4o',
  service: 'chat',
  started_at: at(0),
  duration_ms: 1234.5,
  stop_reason: 'stop',
  iterations: 2,
  tool_calls: 1,
  prompt_tokens: 100,
  completion_tokens: 20,
  cost: 0.000125,
  error: null,
  question: UNICODE,
  answer: UNICODE,
  steps: [
    { type: 'model', iteration: 1, started_at: at(0), duration_ms: 10.25, finish_reason: 'tool_calls', tool_calls: 1 },
    {
      type: 'tool',
      iteration: 1,
      started_at: at(1),
      duration_ms: 1,
      tool: 'add',
      params: { a: 1 },
      result: [null, UNICODE],
    },
  ],
  ...more,
})

const withoutSteps = ({ steps: _, ...rest }: StoredRun): ListedRun => rest

const idsOf = async ({ runs }: Storage, more: Partial<RunFilter> = {}): Promise<string[]> =>
  (await runs.list({ tenant: 'acme', limit: 200, ...more })).runs.map(({ id }) => id)

export const runClauses: Clauses = {
  'runs: lists say how people rate them, and are filtered by it': async (store) => {
    const { ledger, runs, items } = await store.open()
    const others = ['b', 'c'].map((id, n) => run(id, { started_at: at(-n) }))
    await ledger.append([], [run('a', { started_at: at(1) }), ...others, run('a', { tenant: 'other' })])
    const rating = (owner: string, id: string, label: string) => ({
      ...({ tenant: 'acme', kind: 'rating', owner, id, owner_name: owner, subject: `run:${id}`, label } as const),
      ...{ name: '', content: '{}', updated_at: Date.now() },
    })
    for (const [owner, id, label] of [
      ['key-1', 'a', 'good'],
      ['key-2', 'a', 'bad'],
      ['key-3', 'a', 'good'],
      ['key-1', 'b', 'bad'],
    ] as const) {
      await items.put(rating(owner, id, label), { most: 10 })
    }
    const listed = async (more: object = {}) =>
      (await runs.list({ tenant: 'acme', limit: 10, ...more })).runs.map(({ id, ratings }) => [id, ratings])
    assert.deepEqual(await listed(), [
      ['a', { good: 2, bad: 1 }],
      ['b', { good: 0, bad: 1 }],
      ['c', undefined],
    ])
    assert.deepEqual(await listed({ rating: 'good' }), [['a', { good: 2, bad: 1 }]])
    assert.deepEqual(await listed({ tenant: 'other' }), [['a', undefined]])
  },

  'runs: a run is stored whole, and listed without its steps': async (store) => {
    const [one, other] = await store.openTwo()
    const bare = run('bare', { caller: null, cost: null, error: 'It broke.', question: '', answer: '', steps: [] })
    const full = run('full', { mocked: true })
    await one.ledger.append([], [full, bare])
    assert.deepEqual(await other.runs.get('acme', 'full'), full)
    assert.deepEqual(await other.runs.get('acme', 'bare'), bare)
    assert.deepEqual([await other.runs.tenantOf('bare'), await other.runs.tenantOf('none')], ['acme', undefined])
    assert.deepEqual(await other.runs.list({ tenant: 'acme', limit: 10 }), {
      runs: [withoutSteps(full), withoutSteps(bare)],
    })
  },

  'runs: they are filtered by tool, key and time': async (store) => {
    const opened = await store.open()
    const runs = [run('a'), run('b', { caller: 'key-2', started_at: at(1) }), run('c', { started_at: at(2) })]
    const calls = [call({ runId: 'a', tool: 'sub' }), call({ runId: 'b' }), call({ runId: 'c', tenant: 'other' })]
    await opened.ledger.append(calls, runs)
    assert.deepEqual(await idsOf(opened, { tool: 'add' }), ['b'])
    assert.deepEqual(await idsOf(opened, { tool: 'sub' }), ['a'])
    assert.deepEqual(await idsOf(opened, { caller: 'key-1' }), ['c', 'a'])
    assert.deepEqual(await idsOf(opened, { from: BASE + 1_000 }), ['c', 'b'])
    assert.deepEqual(await idsOf(opened, { from: BASE, to: BASE + 2_000, caller: 'key-1' }), ['a'])
  },

  'runs: the oldest of a tenant are removed beyond its quota': async (store) => {
    const storage = await store.open()
    const runs = [3, 1, 5, 2, 4].map((second) => run(`run-${second}`, { started_at: at(second) }))
    await storage.ledger.append([], [...runs, run('other', { tenant: 'other' })])
    assert.equal(await storage.runs.trim('acme', 5), 0)
    assert.equal(await storage.runs.trim('acme', 2), 3)
    assert.deepEqual(await idsOf(storage), ['run-5', 'run-4'])
    assert.deepEqual(await idsOf(storage, { tenant: 'other' }), ['other'])
  },

  'runs: the decisions about tools and the recording are stored with a run': async (store) => {
    const storage = await store.open()
    const decision = {
      tool: UNICODE,
      decision: 'hide',
      trials: 10,
      successes: 2,
      rate: 0.2,
      lower_bound: 0.06,
    } as const
    const whole = run('one', {
      gate: [{ ...decision, threshold: 0.8 }],
      recording: JSON.stringify({ a: NUL, UNICODE }),
    })
    await storage.ledger.append([], [whole])
    assert.deepEqual(await storage.runs.get('acme', 'one'), whole)
    const { steps: _, gate: __, recording: ___, ...listed } = whole
    assert.deepEqual(await storage.runs.list({ tenant: 'acme', limit: 10 }), { runs: [listed] })
  },

  'runs: a tenant does not get those of another': async (store) => {
    const storage = await store.open()
    await storage.ledger.append([], [run('same'), run('same', { tenant: 'other', answer: 'theirs' })])
    await storage.ledger.append([], [run('mine')])
    assert.equal((await storage.runs.get('other', 'same'))?.answer, 'theirs')
    assert.equal((await storage.runs.get('acme', 'same'))?.answer, UNICODE)
    assert.equal(await storage.runs.get('other', 'mine'), undefined)
    assert.deepEqual(await idsOf(storage, { tenant: 'other' }), ['same'])
    assert.deepEqual(await idsOf(storage, { tenant: 'nobody' }), [])
  },

  'runs: they are listed newest first, and can be picked by model and end': async (store) => {
    const storage = await store.open()
    await storage.ledger.append(
      [],
      [
        run('a', { started_at: at(1) }),
        run('b', { started_at: at(3), model: 'mini:one' }),
        run('c', { started_at: at(2), stop_reason: 'max_iterations' }),
        run('d', { started_at: at(4), model: 'mini:one', stop_reason: 'max_iterations' }),
      ],
    )
    assert.deepEqual(await idsOf(storage), ['d', 'b', 'c', 'a'])
    assert.deepEqual(await idsOf(storage, { model: 'mini:one' }), ['d', 'b'])
    assert.deepEqual(await idsOf(storage, { stopReason: 'max_iterations' }), ['d', 'c'])
    assert.deepEqual(await idsOf(storage, { model: 'mini:one', stopReason: 'stop' }), ['b'])
    assert.deepEqual(await idsOf(storage, { limit: 1 }), ['d'])
  },

  'runs: page after page gives every one once, those of the same moment too': async (store) => {
    const storage = await store.open()
    const all = Array.from({ length: 25 }, (_, index) =>
      run(`run-${index}`, { started_at: at(Math.floor(index / 10)) }),
    )
    await storage.ledger.append([], all)
    await storage.ledger.append([], [run('not-ours', { tenant: 'other' })])
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await storage.runs.list({ tenant: 'acme', limit: 4, ...(cursor !== undefined && { cursor }) })
      assert.ok(page.runs.length > 0)
      seen.push(...page.runs.map(({ id }) => id))
      cursor = page.next
    } while (cursor !== undefined)
    assert.equal(seen.length, 25)
    assert.deepEqual(seen.toSorted(), all.map(({ id }) => id).toSorted())
    assert.deepEqual(seen, await idsOf(storage))
    const exact = await storage.runs.list({ tenant: 'acme', limit: 25 })
    assert.equal(exact.next, undefined)
  },

  'runs: a cursor that no page gave is refused': async (store) => {
    const storage = await store.open()
    for (const cursor of ['', 'x', 'bnVsbA', UNICODE, Buffer.from('[1,2]').toString('base64url')]) {
      await refuses(storage.runs.list({ tenant: 'acme', limit: 10, cursor }))
    }
  },

  'runs: a run that is written twice stays as it was': async (store) => {
    const storage = await store.open()
    await storage.ledger.append([], [run('one')])
    await storage.ledger.append([], [run('one', { answer: 'again' }), run('two')])
    assert.equal((await storage.runs.get('acme', 'one'))?.answer, UNICODE)
    assert.deepEqual(await idsOf(storage), ['two', 'one'])
  },

  'runs: NUL does not keep one from being written, and is refused in a question for one': async (store) => {
    const storage = await store.open()
    await storage.ledger.append([], [run('one', { question: NUL, answer: NUL, error: NUL, model: NUL })])
    const kept = await storage.runs.get('acme', 'one')
    assert.deepEqual([kept?.question, kept?.answer, kept?.error, kept?.model], Array(4).fill('a\uFFFDb'))
    await refuses(storage.runs.get('acme', NUL))
    await refuses(storage.runs.list({ tenant: NUL, limit: 10 }))
  },
}
