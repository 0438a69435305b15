import assert from 'node:assert/strict'
import type { StoredToolUse, ToolUseAddition, ToolUseFailure } from '../../../src/core/storage/tool-use-store.ts'
import { type Clauses, NUL, refuses, UNICODE } from './contract-store.ts'

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()
const NONE = { trials: 0, successes: 0 }

const failed = (minute: number, more: Partial<ToolUseFailure> = {}): ToolUseFailure => ({
  timestamp: at(minute),
  source: 'run',
  kind: 'wrong_type',
  message: UNICODE,
  ...more,
})

const use = (tool: string, more: Partial<StoredToolUse> = {}): StoredToolUse => ({
  model_id: 'openai:gpt-4o',
  tool,
  schema_hash: 'aa',
  suite: NONE,
  run: { trials: 1, successes: 1 },
  last_used: at(0),
  failure_kinds: {},
  failures: [],
  ...more,
})

const of = (tenant: string, added: StoredToolUse): ToolUseAddition => ({ tenant, ...added })

export const toolUseClauses: Clauses = {
  'tool use: counts are added up by source, and failures stored': async (store) => {
    const { toolUse } = await store.open()
    const failure = failed(2, { expected: UNICODE, actual: NUL, run_id: 'run-1' })
    await toolUse.add([of('acme', use('add', { last_used: at(5) })), of('acme', use(UNICODE))])
    await toolUse.add([
      of('acme', use('add', { suite: { trials: 4, successes: 3 }, run: NONE, failure_kinds: { wrong_type: 1 } })),
      of(
        'acme',
        use('add', {
          run: { trials: 2, successes: 1 },
          failure_kinds: { wrong_type: 1, wrong_value: 1 },
          failures: [failure],
        }),
      ),
    ])
    const expected = use('add', {
      suite: { trials: 4, successes: 3 },
      run: { trials: 3, successes: 2 },
      last_used: at(5),
      failure_kinds: { wrong_type: 2, wrong_value: 1 },
      failures: [failure],
    })
    assert.deepEqual(await toolUse.list('acme'), [expected, use(UNICODE)])
  },

  'tool use: a tenant has its own, by model, tool and schema': async (store) => {
    const { toolUse } = await store.open()
    await toolUse.add([
      of('acme', use('b')),
      of('acme', use('B')),
      of('acme', use('b', { schema_hash: 'a0' })),
      of('acme', use('z', { model_id: 'a:b' })),
      of('other', use('theirs')),
    ])
    const listed = (await toolUse.list('acme')).map(({ model_id, tool, schema_hash }) => [model_id, tool, schema_hash])
    assert.deepEqual(listed, [
      ['a:b', 'z', 'aa'],
      ['openai:gpt-4o', 'B', 'aa'],
      ['openai:gpt-4o', 'b', 'a0'],
      ['openai:gpt-4o', 'b', 'aa'],
    ])
    assert.deepEqual(await toolUse.list('other'), [use('theirs')])
    assert.deepEqual(await toolUse.list('nobody'), [])
  },

  'tool use: the last 20 failures are stored, and all are counted': async (store) => {
    const { toolUse } = await store.open()
    for (let minute = 0; minute < 30; minute++) {
      const run = { trials: 1, successes: 0 }
      await toolUse.add([of('acme', use('add', { run, failure_kinds: { wrong_type: 1 }, failures: [failed(minute)] }))])
    }
    const [kept] = await toolUse.list('acme')
    assert.deepEqual([kept?.run, kept?.failure_kinds], [{ trials: 30, successes: 0 }, { wrong_type: 30 }])
    assert.deepEqual(
      kept?.failures.map(({ timestamp }) => timestamp),
      Array.from({ length: 20 }, (_, index) => at(index + 10)),
    )
  },

  'tool use: the ten last used versions of a tool are stored': async (store) => {
    const { toolUse } = await store.open()
    for (let minute = 0; minute < 14; minute++) {
      await toolUse.add([
        of('acme', use('add', { schema_hash: minute.toString(16), last_used: at(minute) })),
        of('acme', use('other')),
      ])
    }
    const kept = (await toolUse.list('acme')).filter(({ tool }) => tool === 'add')
    assert.deepEqual(
      kept.map(({ last_used }) => last_used).toSorted(),
      Array.from({ length: 10 }, (_, index) => at(index + 4)),
    )
    assert.equal((await toolUse.list('acme')).length, 11)
  },

  'tool use: nothing is lost if two instances add at once': async (store) => {
    const both = await store.openTwo()
    const added = Array.from({ length: 30 }, (_, index) =>
      (both[index % 2] as (typeof both)[0]).toolUse.add([of('acme', use('add')), of('acme', use(`tool-${index % 3}`))]),
    )
    await Promise.all(added)
    const [first, ...others] = await both[0].toolUse.list('acme')
    assert.deepEqual(first?.run, { trials: 30, successes: 30 })
    assert.deepEqual(
      others.map(({ run }) => run.trials),
      [10, 10, 10],
    )
  },

  'tool use: failing models are found over all tenants': async (store) => {
    const { toolUse } = await store.open()
    const tried = (trials: number, successes: number) => ({ suite: { trials, successes } })
    await toolUse.add([
      of('acme', use('fails', tried(9, 6))),
      of('acme', use('just', tried(9, 7))),
      of('acme', use('untried', tried(8, 0))),
      of('other', use('fails', tried(99, 0))),
    ])
    const found = await toolUse.doubtful(10, 0.8)
    const key = { model_id: 'openai:gpt-4o', tool: 'fails', schema_hash: 'aa' }
    assert.deepEqual(
      found.toSorted((a, b) => a.trials - b.trials),
      [
        { tenant: 'acme', ...key, trials: 10, successes: 7 },
        { tenant: 'other', ...key, trials: 100, successes: 1 },
      ],
    )
    assert.deepEqual(await toolUse.doubtful(101, 0.8), [])
  },

  "tool use: a tenant's counts are replaced whole, and nobody else's": async (store) => {
    const { toolUse } = await store.open()
    await toolUse.add([of('acme', use('old')), of('other', use('old'))])
    const failures = Array.from({ length: 25 }, (_, minute) => failed(minute))
    await toolUse.replace('acme', [use('new', { failures })])
    assert.deepEqual(await toolUse.list('acme'), [use('new', { failures: failures.slice(-20) })])
    assert.deepEqual(await toolUse.list('other'), [use('old')])
    await refuses(toolUse.replace('acme', [use('newer'), use(NUL)]))
    assert.equal((await toolUse.list('acme'))[0]?.tool, 'new')
    await toolUse.replace('acme', [])
    assert.deepEqual(await toolUse.list('acme'), [])
  },

  'tool use: an invalid addition is rejected whole': async (store) => {
    const { toolUse } = await store.open()
    await refuses(toolUse.add([of('acme', use('add')), of(NUL, use('add'))]))
    await refuses(toolUse.list(NUL))
    assert.deepEqual(await toolUse.list('acme'), [])
  },
}
