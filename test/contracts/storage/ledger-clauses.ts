import assert from 'node:assert/strict'
import type { AuditFilter, ExecutionMetrics, MetricsQuery, ModelMetrics } from '../../../src/core/storage/ledger.ts'
import { DEFAULT_QUOTA } from '../../../src/core/storage/quota.ts'
import type { StoredRun } from '../../../src/core/storage/run-store.ts'
import { call, event } from '../../../src/storage/fixtures/call-entry.ts'
import { type Clauses, exceeds, until } from './contract-store.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const run = (id: string, more: Partial<StoredRun> = {}): StoredRun => ({
  id,
  tenant: 'acme',
  caller: null,
  model: 'mini:one',
  service: 'chat',
  started_at: new Date().toISOString(),
  duration_ms: 100,
  stop_reason: 'stop',
  iterations: 1,
  tool_calls: 0,
  prompt_tokens: 10,
  completion_tokens: 5,
  cost: 0.5,
  error: null,
  question: 'Why?',
  answer: 'Because.',
  steps: [],
  ...more,
})

export const ledgerClauses: Clauses = {
  'ledger: each instance has a chain, sealed when it is closed': async (store) => {
    const [one, other] = await store.openTwo()
    for (const { ledger } of [one, other, one]) await ledger.append([call(), call()], [])
    const before = await other.ledger.verify()
    assert.deepEqual(before, { chains: 2, rows: 6, expired: 0, seals: 0, unsealed: 6, faults: [] })
    await one.close()
    const after = await other.ledger.verify()
    assert.deepEqual(after, { chains: 2, rows: 6, expired: 0, seals: 1, unsealed: 2, faults: [] })
  },

  'ledger: servers that seal at the same time lose no seal, and a verification meanwhile finds no fault': async (
    store,
  ) => {
    const observer = await store.open()
    const servers: Awaited<ReturnType<typeof store.open>>[] = []
    while (servers.length < 8) servers.push(await store.open())
    await Promise.all(servers.map(({ ledger }) => ledger.append([call()], [])))
    const reports = Promise.all(Array.from({ length: 5 }, () => observer.ledger.verify()))
    await Promise.all(servers.map((server) => server.close()))
    for (const { faults } of await reports) assert.deepEqual(faults, [])
    const after = await observer.ledger.verify()
    assert.deepEqual(after, { chains: 8, rows: 8, expired: 0, seals: 8, unsealed: 0, faults: [] })
  },

  'ledger: appends at once stand in one chain, none lost': async (store) => {
    const { ledger } = await store.open()
    await Promise.all(Array.from({ length: 20 }, (_, index) => ledger.append([call({ tool: `tool-${index}` })], [])))
    const report = await ledger.verify()
    assert.deepEqual([report.chains, report.rows, report.faults], [1, 20, []])
    const { rows } = await ledger.audit({ tenant: 'acme', limit: 100 })
    assert.equal(new Set(rows.map(({ tool }) => tool)).size, 20)
  },

  'ledger: the row of a call within a call names the outer one, and the chain covers it': async (store) => {
    const { ledger } = await store.open()
    const now = Date.now()
    const child = call({ at: now, tool: 'child', nesting: { parent_id: 'outer' } })
    const parent = call({ at: now - 1_000, tool: 'parent', nesting: { call_id: 'outer', parent_id: undefined } })
    const approval = { id: 'one', params: '{}' }
    await ledger.append([{ ...child, approval }, parent], [])
    const { rows } = await ledger.audit({ tenant: 'acme', limit: 10 })
    const [inner, outer] = rows.map(({ tool, detail }) => [tool, JSON.parse(String(detail))])
    assert.equal(inner?.[1].parent_id, 'outer')
    assert.match(inner?.[1].asked_params_hash, /^[0-9a-f]{64}$/)
    assert.deepEqual(outer, ['parent', { call_id: 'outer' }])
    assert.deepEqual((await ledger.verify()).faults, [])
  },

  'ledger: the payload of a call is found by the id of its row, in its tenant': async (store) => {
    const [one, other] = await store.openTwo()
    const payload = { content: '{"params":{"a":"\\u0000 ü"},"result":1}', storageBytes: 1_000 }
    const now = Date.now()
    await one.ledger.append([call({ at: now - 1 }), call({ at: now, payload })], [], [event({ at: now - 2 })])
    const { rows } = await other.ledger.audit({ tenant: 'acme', limit: 10 })
    const payloads = await Promise.all(rows.map(({ id }) => other.ledger.row('acme', id)))
    assert.deepEqual(
      payloads.map((found) => found?.payload),
      [payload.content, null, null],
    )
    assert.deepEqual(payloads[0]?.row, rows[0])
    assert.equal((await other.ledger.row(undefined, rows[0]?.id ?? ''))?.payload, payload.content)
    for (const [tenant, id] of [
      ['other', rows[0]?.id],
      ['acme', 'none:1'],
      ['acme', `${rows[0]?.id}0`],
      ['acme', 'x'],
      ['acme', '\0:1'],
    ] as const) {
      assert.equal(await other.ledger.row(tenant, id ?? ''), undefined)
    }
    assert.deepEqual((await other.ledger.verify()).faults, [])
  },

  'ledger: a page of rows has the beginning of the payloads, if asked for': async (store) => {
    const [one, other] = await store.openTwo()
    const now = Date.now()
    const payload = (content: string) => ({ content, storageBytes: 1_000 })
    await one.ledger.append([call({ at: now, payload: payload('"😀ü€abc"') }), call({ at: now - 1 })], [])
    await other.ledger.append(
      [call({ at: now - 2, tool: 'rare', payload: payload('1') })],
      [],
      [event({ at: now - 3 })],
    )
    await other.ledger.append([call({ at: now - 4, tenant: 'other', payload: payload('2') })], [])
    const starts = async (more: Partial<AuditFilter>) => {
      const { rows } = await one.ledger.audit({ tenant: 'acme', limit: 10, ...more })
      return rows.map(({ payload_start }) => payload_start)
    }
    assert.deepEqual(await starts({ payloadCharacters: 4 }), ['"😀ü€', undefined, '1', undefined])
    assert.deepEqual(await starts({ payloadCharacters: 4, limit: 1 }), ['"😀ü€'])
    assert.deepEqual(await starts({ payloadCharacters: 100, tool: 'rare' }), ['1'])
    assert.deepEqual(await starts({ payloadCharacters: 4, tenant: undefined }), [
      '"😀ü€',
      undefined,
      '1',
      undefined,
      '2',
    ])
    assert.deepEqual(await starts({}), [undefined, undefined, undefined, undefined])
  },

  'ledger: payloads count as storage, and none is stored beyond the quota': async (store) => {
    const { ledger, jobs } = await store.open()
    const payload = { content: JSON.stringify('x'.repeat(98)), storageBytes: 250 }
    const now = Date.now()
    const all = [1, 2, 3].map((index) => call({ at: now + index, payload }))
    await ledger.append([...all, call({ at: now + 4, tenant: 'other', payload })], [])
    const stored = async (tenant: string) => {
      const { rows } = await ledger.audit({ tenant, limit: 10 })
      const found = await Promise.all(rows.map(({ id }) => ledger.row(tenant, id)))
      return found.map((each) => each?.payload !== null)
    }
    assert.deepEqual([await stored('acme'), await stored('other')], [[false, true, true], [true]])
    const job = { id: 'j', tenant: 'acme', caller: null, tool: 'x', params: {}, timeout_ms: 1 }
    const made = { ...job, created_at: new Date().toISOString() }
    await exceeds('storage_bytes', jobs.create(made, { ...DEFAULT_QUOTA, storage_bytes: 200 }))
  },

  'ledger: nothing appended is nothing written': async (store) => {
    const { ledger } = await store.open()
    await ledger.append([], [])
    assert.deepEqual(await ledger.verify(), { chains: 0, rows: 0, expired: 0, seals: 0, unsealed: 0, faults: [] })
    assert.deepEqual((await ledger.audit({ tenant: undefined, limit: 10 })).rows, [])
  },

  'ledger: the next instance finds what one wrote': async (store) => {
    const first = await store.open()
    await first.ledger.append([call()], [run('one')])
    await first.close()
    const second = await store.open()
    await second.ledger.append([call()], [])
    assert.deepEqual(
      [(await second.ledger.verify()).chains, (await second.ledger.audit({ tenant: 'acme', limit: 10 })).rows.length],
      [2, 2],
    )
    assert.equal((await second.runs.get('acme', 'one'))?.answer, 'Because.')
    assert.equal((await second.ledger.executions({ tenant: 'acme', window: '1h' })).total, 2)
  },

  'ledger: executions are counted by tool and tenant, over all instances': async (store) => {
    const [one, other] = await store.openTwo()
    await one.ledger.append([call(), call({ code: 'TIMEOUT' }), call({ tool: 'sub', tenant: 'other' })], [])
    await other.ledger.append([call(), call({ tool: 'sub' })], [])
    const executions = async (query: MetricsQuery, total: number): Promise<ExecutionMetrics> => {
      await until(`${total} executions`, async () => {
        // What is asked for is written: those of another instance may come later, and not all at once.
        await one.ledger.executions(query)
        return (await other.ledger.executions(query)).total === total
      })
      return one.ledger.executions(query)
    }
    const ours = await executions({ tenant: 'acme', window: '24h' }, 4)
    assert.equal(ours.window, '24h')
    assert.deepEqual([ours.total, ours.success_rate, ours.errors], [4, 0.75, { TIMEOUT: 1 }])
    assert.deepEqual([ours.tools.add?.total, ours.tools.sub?.total], [3, 1])
    const theirs = await executions({ tenant: 'other', window: '7d' }, 1)
    assert.deepEqual([theirs.total, Object.keys(theirs.tools)], [1, ['sub']])
    assert.equal((await executions({ tenant: undefined, window: '1h' }, 5)).total, 5)
    assert.equal((await executions({ tenant: 'nobody', window: '1h' }, 0)).total, 0)
  },

  'ledger: a window has no older calls': async (store) => {
    const { ledger } = await store.open()
    const now = Date.now()
    await ledger.append([call({ at: now }), call({ at: now - 5 * HOUR }), call({ at: now - 3 * DAY })], [])
    const totals = await Promise.all(
      (['1h', '24h', '7d'] as const).map(async (window) => (await ledger.executions({ tenant: 'acme', window })).total),
    )
    assert.deepEqual(totals, [1, 2, 3])
  },

  'ledger: runs are counted by model and tenant': async (store) => {
    const [one, other] = await store.openTwo()
    await one.ledger.append([call({ model: 'mini:one', runId: 'a' })], [run('a', { tool_calls: 1, iterations: 3 })])
    await other.ledger.append([], [run('b'), run('c', { tenant: 'other', model: 'mini:two', cost: null })])
    const modelsOf = async (query: MetricsQuery, total: number): Promise<ModelMetrics> => {
      await until(`${total} runs`, async () => {
        await one.ledger.models(query)
        const { models } = await other.ledger.models(query)
        return Object.values(models).reduce((sum, { runs }) => sum + runs, 0) === total
      })
      return one.ledger.models(query)
    }
    const { models } = await modelsOf({ tenant: 'acme', window: '1h' }, 2)
    assert.deepEqual(Object.keys(models), ['mini:one'])
    const figures = models['mini:one']
    assert.deepEqual([figures?.runs, figures?.runs_with_tools, figures?.max_iterations], [2, 1, 3])
    assert.deepEqual([figures?.prompt_tokens, figures?.completion_tokens, figures?.cost], [20, 10, 1])
    const all = await modelsOf({ tenant: undefined, window: '1h' }, 3)
    assert.deepEqual(Object.keys(all.models).toSorted(), ['mini:one', 'mini:two'])
    assert.equal(all.models['mini:two']?.cost, null)
    assert.deepEqual([all.tenants?.acme?.runs, all.tenants?.other?.runs, all.tenants?.acme?.calls], [2, 1, 1])
  },

  'ledger: a series counts calls and runs by their start, over all instances': async (store) => {
    const [one, other] = await store.openTwo()
    const now = Date.now()
    await one.ledger.append([call({ at: now }), call({ at: now - 7 * HOUR, code: 'TIMEOUT' })], [run('a')])
    await other.ledger.append([call({ at: now - 3 * DAY, tool: 'sub' }), call({ tenant: 'other' })], [])
    const calls = async (query: MetricsQuery & { tool?: string }) => {
      await one.ledger.callSeries(query)
      return (await other.ledger.callSeries(query)).buckets.flatMap(({ total }) => (total > 0 ? [total] : []))
    }
    // Two of them share a bucket of 7d at some times of the day.
    const sum = (totals: readonly number[]) => totals.reduce((one, other) => one + other, 0)
    await until('all calls', async () => sum(await calls({ tenant: 'acme', window: '7d' })) === 3)
    assert.deepEqual(await calls({ tenant: 'acme', window: '1h' }), [1])
    assert.deepEqual(await calls({ tenant: 'acme', window: '24h' }), [1, 1])
    assert.deepEqual(await calls({ tenant: 'acme', window: '7d', tool: 'sub' }), [1])
    assert.deepEqual(await calls({ tenant: 'nobody', window: '7d' }), [])
    const runs = async (query: MetricsQuery & { model?: string }) =>
      (await one.ledger.runSeries(query)).buckets.flatMap(({ runs, cost }) => (runs > 0 ? [[runs, cost]] : []))
    assert.deepEqual(await runs({ tenant: 'acme', window: '24h', model: 'mini:one' }), [[1, 0.5]])
    assert.deepEqual(await runs({ tenant: 'acme', window: '24h', model: 'mini:two' }), [])
    assert.deepEqual(await runs({ tenant: 'other', window: '24h' }), [])
  },

  'ledger: the most common parameter sets of a tool are listed by hash': async (store) => {
    const { ledger } = await store.open()
    const often = Array.from({ length: 3 }, () => call({ params: '{"a":1}' }))
    await ledger.append([...often, call({ params: '{"a":2}' }), call({ tool: 'sub', params: '{"a":3}' })], [])
    await ledger.append([call({ tenant: 'other', params: '{"a":4}' })], [])
    const sets = await ledger.parameterSets({ tenant: 'acme', window: '1h', tool: 'add' })
    assert.deepEqual(
      sets.map(({ calls }) => calls),
      [3, 1],
    )
    assert.deepEqual(await ledger.parameterSets({ tenant: 'nobody', window: '1h', tool: 'add' }), [])
  },

  'ledger: expired rows are removed in sealed stretches, and do not count as missing': async (store) => {
    const first = await store.open()
    await first.ledger.append([call(), call(), call()], [run('old')])
    await first.close()
    const second = await store.open()
    const recent = Date.now() + 300 * DAY
    await second.ledger.append([call({ at: recent })], [run('new', { started_at: new Date(recent).toISOString() })])
    assert.deepEqual(await second.ledger.expire(Date.now()), { audit: 0, runs: 0, figures: 0 })
    const { audit, runs, figures } = await second.ledger.expire(Date.now() + 200 * DAY)
    assert.deepEqual([audit, runs], [3, 1])
    assert.ok(figures > 0)
    const report = await second.ledger.verify()
    assert.deepEqual([report.rows, report.expired, report.faults], [1, 3, []])
    assert.equal((await second.ledger.audit({ tenant: 'acme', limit: 10 })).rows.length, 1)
    assert.equal(await second.runs.get('acme', 'old'), undefined)
    assert.equal((await second.runs.get('acme', 'new'))?.id, 'new')
    assert.deepEqual((await second.ledger.expire(Date.now() + 200 * DAY)).audit, 0)
  },

  'ledger: audit rows may be stored longer than runs and figures': async (store) => {
    const first = await store.open({ auditDays: 100 })
    await first.ledger.append([call()], [run('old')])
    await first.close()
    const { ledger } = await store.open({ auditDays: 100 })
    const after = async (days: number) => ledger.expire(Date.now() + days * DAY)
    const { audit, runs, figures } = await after(50)
    assert.deepEqual([audit, runs, figures > 0], [0, 1, true])
    assert.equal((await after(99)).audit, 0)
    assert.equal((await after(101)).audit, 1)
    assert.equal((await ledger.verify()).expired, 1)
  },

  'ledger: the calls of objectives are counted as long as their window': async (store) => {
    const { ledger } = await store.open({ objectiveDays: 30 })
    const codes = [null, 'TIMEOUT', 'INVALID_PARAMETERS'] as const
    await ledger.append([...codes.map((code) => call({ code })), call({ tool: 'sub', durationMs: 500 })], [])
    const query = {
      tenant: undefined,
      objectives: [{ tool: 'a*' }, { slowMs: 100 }],
      without: ['INVALID_PARAMETERS'] as const,
      windows: [300_000, 3 * DAY],
      days: 1,
    }
    const [added, all] = [
      { calls: 2, failed: 1, slow: 0 },
      { calls: 3, failed: 1, slow: 1 },
    ]
    const counted = await ledger.objectiveCalls(query)
    const windows = counted.map(({ windows }) => windows)
    assert.deepEqual(windows, [
      [added, added],
      [all, all],
    ])
    const days = async () => (await ledger.objectiveCalls(query))[0]?.days.map(({ calls }) => calls)
    await ledger.expire(Date.now() + 20 * DAY)
    assert.deepEqual(await days(), [2])
    await ledger.expire(Date.now() + 32 * DAY)
    assert.deepEqual(await days(), [])
  },

  'ledger: one pass verifies the chains of all instances and adds up a time': async (store) => {
    const [one, other] = await store.openTwo()
    const now = Date.now()
    const denied = call({ at: now - 5_000, code: 'PERMISSION_DENIED', caller: 'key-2', attempts: 0 })
    await one.ledger.append([call({ at: now - 9_000, cost: 250_000 }), denied], [], [event({ at: now - 4_000 })])
    const approved = event({ at: now - 3_000, event: 'approval.decided' })
    await other.ledger.append([call({ at: now - 1_000, cost: 500_000 }), call({ tenant: 'other' })], [], [approved])
    const summary = await one.ledger.summary({ tenant: 'acme', from: now - 8_000, to: now + 1 })
    assert.deepEqual(summary.totals, { calls: 2, failed: 0, unknown: 0, denied: 1, cost: 0.5, unknown_costs: 0 })
    assert.deepEqual(
      summary.usage.map(({ caller, tool, calls }) => [caller, tool, calls]),
      [
        ['key-1', 'add', 1],
        ['key-2', 'add', 1],
      ],
    )
    assert.deepEqual(
      summary.denied.map(({ caller, error_code, calls }) => [caller, error_code, calls]),
      [['key-2', 'PERMISSION_DENIED', 1]],
    )
    assert.deepEqual(
      [summary.changes.map((one) => one.event), summary.approvals.map((one) => one.event)],
      [['key.created'], ['approval.decided']],
    )
    assert.equal(summary.first_row, new Date(now - 9_000).toISOString())
    assert.deepEqual([summary.integrity.rows, summary.integrity.faults], [6, []])
  },
}
