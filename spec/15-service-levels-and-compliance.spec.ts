import { describe, test } from 'vitest'

describe('Service levels and compliance', () => {
  test.todo(
    '[15.3-1] objectives [{tool?, success?, p95_ms?, window}] have multi-window burn-rate alerts (fast 5 m/1 h, slow 6 h/3 d) to log, metrics and a signed webhook',
  )
  test.todo('[15.3-2] There is no alert storm. Resolved alerts say so')
  test.todo(
    '[15.3-3] toolyard report --from --to [--format html|json|csv] reports who used what when, denied calls, approvals, key and flag changes, cost, objectives and the integrity of the audit chain',
  )
})
