import { describe, expect, test } from 'vitest'
import { complianceReport } from '../src/app/service-levels/compliance-report.ts'
import { checkConfig } from '../src/config/check-config.ts'
import type { KeyStore } from '../src/core/storage/key-store.ts'
import { call, openLedger, run } from '../src/storage/ledger/fixtures/open-ledger.ts'

const DAY = 86_400_000
const noKeys: KeyStore = { list: async () => [], create: async () => {}, revoke: async () => false }

describe('Cost and budgets', () => {
  test.todo(
    '[15.2-1] cost {per_call?, from_result? (JSONPath)} on a definition gives the cost of a call, all in one costs.currency (USD). Models have prices',
  )
  test.todo(
    '[15.2-2] GET /api/costs?by=tool|model|tenant|key|run&period= reports costs, and so do the page and /metrics',
  )
  test.todo(
    '[15.2-3] budgets [{scope: "tenant" | "key" | "tool" | "model", match?, per: "day" | "month", amount, action: "warn" | "refuse"}]: refused calls and runs are RATE_LIMITED with the budget named',
  )
  test.todo('[15.2-4] Budgets are exact across servers to within one call per server')
  test.todo('[15.2-5] Budget counters are rows of their own, stored for 13 months')
  test.todo('[15.2-6] Audit rows gain cost, key and version (chain format with a version)')
  test('[15.2-7] storage.audit_days may exceed keep_days', async () => {
    expect(() => checkConfig({ storage: { keep_days: 7, audit_days: 3 } }, 'config')).toThrow(
      'storage.audit_days is 3, less than keep_days (7): raise it, or lower keep_days.',
    )
    const { ledger, clock, stored } = openLedger({ keepDays: 7, auditDays: 365 })
    await ledger.append([call({ at: clock.wall() })], [run()])
    clock.advance(364 * DAY)
    await ledger.append([], [])
    await ledger.expire(clock.wall())
    expect([stored.rows.length, stored.runs.size]).toEqual([1, 0])
    await ledger.expire(clock.wall() + 2 * DAY)
    expect(stored.rows).toEqual([])
  })

  test('[15.2-8] A report says from when rows exist', async () => {
    const { ledger, clock } = openLedger({ keepDays: 30 })
    const start = clock.wall()
    await ledger.append([call({ at: start })], [])
    clock.advance(8 * DAY)
    await ledger.append([call({ at: clock.wall() })], [])
    const noticeFrom = async (from: number) => {
      const parts = { storage: { ledger, keys: noKeys }, objectives: { report: async () => [] }, clock }
      return (await complianceReport({ tenant: undefined, from, to: clock.wall() + 1 }, parts)).notice
    }
    expect(await noticeFrom(start)).toBe(null)
    expect(await noticeFrom(start - DAY)).toBe(
      'Rows exist from 2026-01-01T00:00:00.000Z on: nothing was recorded before',
    )
    await ledger.expire(clock.wall() + 25 * DAY)
    const removed = 'Rows exist from 2026-01-01T00:00:00.000Z on: older ones were removed after storage.audit_days'
    expect(await noticeFrom(start)).toBe(removed)
    expect(await noticeFrom(clock.wall())).toBe(null)
  })

  test.todo('[15.2-9] period of a cost report is day, week, month, or from/to')
  test.todo('[15.2-10] A refused budget has Retry-After')
  test.todo(
    '[15.2-11] roles {<name>: {scopes, tools?: [patterns], models?: [patterns]}} adds roles to the three built in. Keys, OIDC roles and approval.by name them',
  )
  test.todo('[15.2-12] Lists, calls, search, MCP and the page respect roles')
  test.todo('[15.2-13] Keys may carry tools: [patterns], models: [patterns], calls_per_minute, budget and expires_at')
})
