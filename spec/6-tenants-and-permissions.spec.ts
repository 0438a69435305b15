import { describe, test } from 'vitest'

describe('Tenants and permissions', () => {
  test.todo('a caller is known by API key')
  test.todo('each belongs to a tenant: tenants {<id>: {flags}}')
  test.todo('The key-less local caller is admin of tenant local, under the same flags')
  test.todo('a tool that requires permissions runs only where each is exactly true (default deny)')
  test.todo('a tool that requires none is allowed unless its own flag is false')
  test.todo("one tenant can never see or use what is another's")
  test.todo('a caller may make limits.calls_per_session (1000) tool calls per session')
  test.todo('beyond that RATE_LIMITED')
})
