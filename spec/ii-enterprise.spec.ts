import { describe, test } from 'vitest'

describe('Enterprise', () => {
  test.todo('compliance view over the audit log, roles, cost, SLA monitoring, A/B tests')
})
