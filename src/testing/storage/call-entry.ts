import type { CallEntry } from '../../core/storage/ledger.ts'

/** A call that went well, now. */
export const call = (more: Partial<CallEntry> = {}): CallEntry => ({
  at: Date.now(),
  tenant: 'acme',
  caller: 'key-1',
  source: 'http',
  runId: null,
  tool: 'add',
  model: null,
  schemaHash: '0123456789abcdef',
  params: '{"a":1,"b":2}',
  code: null,
  unknown: false,
  durationMs: 1.5,
  attempts: 1,
  ...more,
})
