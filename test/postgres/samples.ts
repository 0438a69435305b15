import { vi } from 'vitest'

export const claimOf = (key: string, fingerprint = 'echo') => ({
  tenant: 'acme',
  caller: 'ci',
  key,
  fingerprint,
  expiresAt: Date.now() + 60_000,
})

export const answer = { success: true, result: 'sent', tool_name: 'send', execution_time_ms: 1 } as const

export const settings = (name: string) => ({ kind: 'limits', name, value: { calls: 1 } }) as const

/** Waits until a condition holds. */
export const until = (condition: () => unknown) => vi.waitFor(condition, { interval: 20 })

export const job = (id: string) => ({
  id,
  tenant: 'acme',
  caller: null,
  tool: 'echo',
  params: { a: 1 },
  timeout_ms: 1_000,
  created_at: '2026-01-01T00:00:00.000Z',
})
