import { describe, test } from 'vitest'

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
  test.todo('[15.2-7] storage.audit_days may exceed keep_days')
  test.todo('[15.2-8] A report says from when rows exist')
  test.todo('[15.2-9] period of a cost report is day, week, month, or from/to')
  test.todo('[15.2-10] A refused budget has Retry-After')
  test.todo(
    '[15.2-11] roles {<name>: {scopes, tools?: [patterns], models?: [patterns]}} adds roles to the three built in. Keys, OIDC roles and approval.by name them',
  )
  test.todo('[15.2-12] Lists, calls, search, MCP and the page respect roles')
  test.todo('[15.2-13] Keys may carry tools: [patterns], models: [patterns], calls_per_minute, budget and expires_at')
})
