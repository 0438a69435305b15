import { expect, test } from 'vitest'
import type { ComplianceReport } from '../../app/service-levels/compliance-report.ts'
import { REPORT_FORMATS, type ReportFormat } from './report-export.ts'

const HOSTILE = '=1+1"><img src=x onerror=alert(1)>'
const TIME = '2026-01-01T00:00:00.000Z'
const SUM = { calls: 3, failed: 1, unknown: 0, denied: 1, cost: 0.5, unknown_costs: 1 }

const REPORT: ComplianceReport = {
  generated_at: TIME,
  from: TIME,
  to: '2026-02-01T00:00:00.000Z',
  tenant: null,
  notice: 'The oldest row is from 2026-01-05T00:00:00.000Z: nothing was recorded before',
  keys: { 'key-1': { name: HOSTILE, role: 'user' } },
  models: [{ model: 'openai:gpt-4o', turns: 4, unknown: 1, cost: 0.25 }],
  objectives: [
    {
      id: `${HOSTILE} success 0.9 30d`,
      tool: HOSTILE,
      indicator: 'success',
      target: 0.9,
      window: '30d',
      calls: 10,
      bad: 2,
      error_budget_left: -1,
      burn_rates: { '5m': null, '1h': null, '6h': 2, '3d': 2 },
      days: [],
    },
  ],
  first_row: TIME,
  removed_until: null,
  totals: SUM,
  days: [{ day: '2026-01-05', ...SUM }],
  usage: [{ tenant: 'acme', caller: 'key-1', key: 'key-1', tool: HOSTILE, ...SUM, first: TIME, last: TIME }],
  denied: [
    { tenant: 'acme', caller: null, tool: HOSTILE, error_code: 'RATE_LIMITED', calls: 1, first: TIME, last: TIME },
  ],
  approvals: [],
  changes: [
    {
      ...{ id: 'one:1', time: TIME, tenant: 'acme', caller: 'key-1', source: 'rest', event: 'key.created' },
      ...{ subject: HOSTILE, outcome: 'success', attempts: 1, detail: JSON.stringify({ name: HOSTILE }) },
    },
  ],
  access: [],
  alerts: [],
  left_out: { usage: 7, denied: 0, approvals: 0, changes: 0, access: 0, alerts: 0 },
  integrity: {
    ...{ chains: 1, rows: 4, expired: 0, seals: 0, unsealed: 4 },
    faults: [{ chain: 'one', at: 2, problem: 'Row 2 is missing' }],
  },
}

const text = (format: ReportFormat, report = REPORT) => [...REPORT_FORMATS[format].write(report)].join('')

test('HTML escapes every value, loads nothing and says what is missing', () => {
  const html = text('html')
  expect(html).not.toContain('<img')
  expect(html).toContain("default-src 'none'; style-src 'sha256-")
  for (const shown of [
    'The oldest row is from 2026-01-05',
    'The audit log is not intact (1 fault)',
    'Row 2 is missing',
    '7 more are left out',
    '-100.00 %',
    '80.00 %',
  ]) {
    expect(html).toContain(shown)
  }
})

test('CSV has no cell that a spreadsheet runs as a formula', () => {
  const csv = text('csv')
  expect(csv).toContain("'=1+1")
  expect(csv).not.toMatch(/(?:^|,"?)=/m)
  expect(csv).toContain('Cost of models,openai:gpt-4o,4,1,0.25\r\n')
  expect(csv).toContain('Calls per day,2026-01-05,3,1,0,1,0.5,1\r\n')
})

test('a caller that has the name of a property of every object has no other name', () => {
  const [usage] = REPORT.usage
  const csv = text('csv', { ...REPORT, usage: [{ ...usage, caller: 'constructor', tool: 'add' } as never] })
  expect(csv).toContain('Who used what,acme,constructor,constructor,add,')
})

test('JSON is the whole report', () => {
  expect(JSON.parse(text('json'))).toEqual(REPORT)
})
