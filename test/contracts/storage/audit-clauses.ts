import assert from 'node:assert/strict'
import type { AuditFilter, AuditRow, CallEntry } from '../../../src/core/storage/ledger.ts'
import { NOTHING_SHOWN } from '../../../src/storage/fixtures/audit-rows.ts'
import { call, event } from '../../../src/storage/fixtures/call-entry.ts'
import type { Storage } from '../../../src/storage/sql/engine.ts'
import { type Clauses, NUL, refuses, UNICODE } from './contract-store.ts'

// Recent: what is older than it is kept is removed in the background.
const BASE = Math.floor(Date.now() / 1_000) * 1_000 - 60_000
const HEX = /^[0-9a-f]{64}$/

const rowsOf = async ({ ledger }: Storage, more: Partial<AuditFilter> = {}): Promise<readonly AuditRow[]> =>
  (await ledger.audit({ tenant: 'acme', limit: 1_000, ...more })).rows

const toolsOf = async (storage: Storage, more: Partial<AuditFilter> = {}): Promise<string[]> =>
  (await rowsOf(storage, more)).map(({ tool }) => tool)

/** Every page, and how many rows each had. */
async function pagesOf({ ledger }: Storage, filter: Omit<AuditFilter, 'cursor'>): Promise<AuditRow[]> {
  const seen: AuditRow[] = []
  let cursor: string | undefined
  do {
    const page = await ledger.audit({ ...filter, ...(cursor !== undefined && { cursor }) })
    assert.ok(page.rows.length > 0 && page.rows.length <= filter.limit)
    seen.push(...page.rows)
    cursor = page.next
  } while (cursor !== undefined)
  return seen
}

export const auditClauses: Clauses = {
  'audit: all fields of a call are stored, but not its parameters': async (store) => {
    const [one, other] = await store.openTwo()
    const entry = call({
      caller: 'key-1',
      source: 'http',
      runId: 'run-1',
      tool: UNICODE,
      model: 'mini:one',
      schemaHash: 'abcdef',
      version: '1.2.0',
      cost: 1_250_001,
      keyId: 'key-1',
      params: '{"secret":"swordfish"}',
      code: 'TIMEOUT',
      unknown: true,
      durationMs: 12.125,
      attempts: 3,
    })
    await one.ledger.append([entry], [])
    const rows = await rowsOf(other)
    assert.equal(rows.length, 1)
    const { id, hash, params_hash, ...row } = rows[0] as AuditRow
    const { params_hash: _, ...none } = NOTHING_SHOWN
    assert.deepEqual(row, {
      ...none,
      time: new Date(entry.at).toISOString(),
      tenant: 'acme',
      caller: 'key-1',
      source: 'http',
      run_id: 'run-1',
      tool: UNICODE,
      model: 'mini:one',
      schema_hash: 'abcdef',
      outcome: 'unknown',
      error_code: 'TIMEOUT',
      duration_ms: 12.125,
      attempts: 3,
      version: '1.2.0',
      cost: 1.250001,
      key: 'key-1',
    })
    assert.match(hash, HEX)
    assert.match(params_hash ?? '', HEX)
    assert.ok(id.length > 0)
    assert.ok(!JSON.stringify(rows).includes('swordfish'))
  },

  'audit: unknown fields are null': async (store) => {
    const storage = await store.open()
    const unknown = { caller: null, source: null, runId: null, schemaHash: null, params: null }
    await storage.ledger.append([call(unknown), call({ code: 'PERMISSION_DENIED' })], [])
    const [second, first] = await rowsOf(storage)
    assert.deepEqual(
      [first?.caller, first?.source, first?.run_id, first?.schema_hash, first?.params_hash, first?.error_code],
      Array(6).fill(null),
    )
    assert.deepEqual([first?.outcome, second?.outcome], ['success', 'failure'])
  },

  'audit: an event is a row of the same chain that counts in no figures': async (store) => {
    const [one, other] = await store.openTwo()
    const detail = JSON.stringify({ old: null, new: true, by: `${UNICODE}\0\ud800` })
    const entry = event({ at: BASE, event: 'flag.set', subject: UNICODE, detail, failed: true, count: 7 })
    await one.ledger.append([call({ at: BASE + 1 })], [], [entry, { ...entry, tenant: '*' }])
    const [found, ...more] = await rowsOf(other, { type: 'event' })
    assert.deepEqual(more, [])
    const { id: _, hash, ...row } = found as AuditRow
    assert.match(hash, HEX)
    assert.deepEqual(row, {
      ...NOTHING_SHOWN,
      time: new Date(BASE).toISOString(),
      tenant: 'acme',
      caller: 'key-1',
      source: 'rest',
      tool: '',
      outcome: 'failure',
      duration_ms: 0,
      attempts: 7,
      event: 'flag.set',
      subject: UNICODE,
      detail,
    })
    assert.deepEqual(await toolsOf(other, { type: 'call' }), ['add'])
    assert.equal((await rowsOf(other)).length, 2)
    assert.equal((await rowsOf(other, { type: 'event', tenant: undefined, outcome: 'failure' })).length, 2)
    assert.equal((await rowsOf(other, { type: 'event', caller: 'key-2' })).length, 0)
    const report = await other.ledger.verify()
    assert.deepEqual([report.rows, report.chains, report.faults], [3, 1, []])
    const { total, tools } = await one.ledger.executions({ tenant: undefined, window: '1h' })
    assert.deepEqual([total, Object.keys(tools)], [1, ['add']])
  },

  'audit: equal parameters have equal hashes, in whatever order': async (store) => {
    const [one, other] = await store.openTwo()
    await one.ledger.append([call({ params: '{"a":1,"b":[2]}' }), call({ params: '{"a":1,"b":[3]}' })], [])
    await other.ledger.append([call({ params: '{ "b": [2], "a": 1.0 }' })], [])
    const hashes = (await rowsOf(one)).map(({ params_hash }) => params_hash)
    assert.equal(hashes.length, 3)
    assert.equal(new Set(hashes).size, 2)
  },

  'audit: rows are given newest first, and every filter picks': async (store) => {
    const storage = await store.open()
    const given: [string, Partial<CallEntry>][] = [
      ['plain', {}],
      ['by caller', { caller: 'key-2' }],
      ['by run', { runId: 'run-2' }],
      ['failed', { code: 'TIMEOUT' }],
      ['in doubt', { code: 'SERVICE_UNAVAILABLE', unknown: true }],
      ['last', {}],
    ]
    const entries = given.map(([tool, more], index) => call({ tool, at: BASE + index * 1_000, ...more }))
    await storage.ledger.append(entries.toReversed(), [])
    const all = given.map(([tool]) => tool).toReversed()
    assert.deepEqual(await toolsOf(storage), all)
    assert.deepEqual(await toolsOf(storage, { limit: 2 }), all.slice(0, 2))
    assert.deepEqual(await toolsOf(storage, { tool: 'plain' }), ['plain'])
    assert.deepEqual(await toolsOf(storage, { caller: 'key-2' }), ['by caller'])
    assert.deepEqual(await toolsOf(storage, { runId: 'run-2' }), ['by run'])
    assert.deepEqual(await toolsOf(storage, { outcome: 'failure' }), ['failed'])
    assert.deepEqual(await toolsOf(storage, { outcome: 'unknown' }), ['in doubt'])
    assert.deepEqual(await toolsOf(storage, { errorCode: 'TIMEOUT' }), ['failed'])
    assert.deepEqual(await toolsOf(storage, { from: BASE + 4_000 }), ['last', 'in doubt'])
    assert.deepEqual(await toolsOf(storage, { to: BASE + 1_000 }), ['plain'])
    const middle = { from: BASE + 1_000, to: BASE + 3_000 }
    assert.deepEqual(await toolsOf(storage, middle), ['by run', 'by caller'])
    assert.deepEqual(await toolsOf(storage, { ...middle, caller: 'key-2', outcome: 'success' }), ['by caller'])
    assert.deepEqual(await toolsOf(storage, { tool: 'nothing' }), [])
  },

  'audit: a tenant gets its own rows only, and a query for all tenants gets all': async (store) => {
    const storage = await store.open()
    await storage.ledger.append([call({ tool: 'ours' }), call({ tool: 'theirs', tenant: 'other', runId: 'run-9' })], [])
    assert.deepEqual(await toolsOf(storage), ['ours'])
    assert.deepEqual(await toolsOf(storage, { tool: 'theirs' }), [])
    assert.deepEqual(await toolsOf(storage, { runId: 'run-9' }), [])
    assert.deepEqual(await toolsOf(storage, { tenant: 'other' }), ['theirs'])
    assert.deepEqual(await toolsOf(storage, { tenant: 'nobody' }), [])
    assert.deepEqual((await toolsOf(storage, { tenant: undefined })).toSorted(), ['ours', 'theirs'])
  },

  'audit: page after page gives every row once, those of the same moment too': async (store) => {
    const both = await store.openTwo()
    for (const [index, { ledger }] of [...both, ...both].entries()) {
      const calls = Array.from({ length: 15 }, (_, each) =>
        call({ tool: `${index} ${each}`, at: BASE + Math.floor(each / 10) }),
      )
      await ledger.append([...calls, call({ tenant: 'other', at: BASE })], [])
    }
    for (const tenant of ['acme', undefined]) {
      const seen = await pagesOf(both[1], { tenant, limit: 7 })
      assert.equal(seen.length, tenant === undefined ? 64 : 60)
      assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length)
      const times = seen.map(({ time }) => time)
      assert.deepEqual(times, times.toSorted().toReversed())
    }
    const one = await pagesOf(both[0], { tenant: 'acme', limit: 1, tool: '0 3' })
    assert.equal(one.length, 1)
  },

  'audit: a page that is read while rows are added misses none of the older': async (store) => {
    const storage = await store.open()
    const batch = (from: number) => Array.from({ length: 6 }, (_, index) => call({ at: from + index }))
    await storage.ledger.append(batch(BASE), [])
    const first = await storage.ledger.audit({ tenant: 'acme', limit: 3 })
    await storage.ledger.append(batch(BASE + 1_000), [])
    const second = await storage.ledger.audit({ tenant: 'acme', limit: 3, cursor: first.next as string })
    const times = [...first.rows, ...second.rows].map(({ time }) => Date.parse(time) - BASE)
    assert.deepEqual(times, [5, 4, 3, 2, 1, 0])
    assert.equal(second.next, undefined)
  },

  'audit: a cursor that no page gave is refused, and NUL in a filter': async (store) => {
    const storage = await store.open()
    await storage.ledger.append([call()], [])
    for (const cursor of ['', 'x', 'bnVsbA', UNICODE]) {
      await refuses(storage.ledger.audit({ tenant: 'acme', limit: 10, cursor }))
    }
    await refuses(storage.ledger.audit({ tenant: 'acme', limit: 10, tool: NUL }))
  },

  'audit: NUL does not keep a row from being written, and the chain holds': async (store) => {
    const storage = await store.open()
    await storage.ledger.append([call({ tool: NUL, caller: NUL, params: '{"nul":"\\u0000"}' }), call()], [])
    assert.deepEqual(await toolsOf(storage, { tool: 'a\uFFFDb', caller: 'a\uFFFDb' }), ['a\uFFFDb'])
    assert.deepEqual((await storage.ledger.verify()).faults, [])
  },
}
