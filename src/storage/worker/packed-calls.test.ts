import { expect, it } from 'vitest'
import { call } from '../fixtures/call-entry.ts'
import { packCalls, unpackCalls } from './packed-calls.ts'

it('calls come out as they went in, whatever they have in common', () => {
  const calls = [
    call({ at: 1.5, params: '{"a":"ä\n🌍"}', durationMs: 0.25 }),
    call({ at: 2, params: null, code: 'TIMEOUT', unknown: true }),
    call({ at: 3, params: '', attempts: 3 }),
    ...Array.from({ length: 40 }, (_, index) => call({ at: 4, tool: `tool_${index % 20}`, runId: `${index % 3}` })),
    call({ at: 5, cost: 0, keyId: 'key-1' }),
    call({ at: 5, cost: 1_250_000, keyId: 'key-2' }),
    call({ at: 5, nesting: { call_id: 'a', parent_id: undefined } }),
    call({ at: 5, nesting: { call_id: undefined, parent_id: 'a' } }),
    call({ at: 5, params: '{}', caller: null, source: null, model: null, schemaHash: null }),
  ]
  const packed = packCalls(calls)
  expect(unpackCalls(structuredClone(packed))).toEqual(calls)
  expect(packCalls([...Array(100)].map(() => call({ at: 1 }))).origins).toHaveLength(1)
})
