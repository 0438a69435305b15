import { expect, test } from 'vitest'
import type { RecordedCall } from '../../chat/run-record.ts'
import type { TextMessage } from '../../models/content.ts'
import { buildSuite } from '../load-suite.ts'
import { type Cassette, CassetteError, cassetteCase } from './cassette.ts'

const times = { index: 0, started_ms: 0, duration_ms: 0 }
const add = { name: 'add', description: 'Adds.', parameters: { type: 'object' } }

const called = (params: unknown, result: unknown, more: Partial<RecordedCall> = {}): RecordedCall => ({
  tool: 'add',
  params,
  result: { success: true, result, tool_name: 'add', execution_time_ms: 0 },
  iteration: 1,
  ...times,
  ...more,
})

const failed = (error_code: 'INVALID_PARAMETERS' | 'TIMEOUT') =>
  ({ success: false, error: 'No', error_code, tool_name: 'add', execution_time_ms: 0 }) as const

const cassette = (
  calls: readonly RecordedCall[],
  messages: readonly TextMessage[] = [{ role: 'user', content: 'Go' }],
) =>
  ({
    cassette: 1,
    run_id: 'run-1',
    recorded_at: '2026-01-01T00:00:00.000Z',
    model: 'a:b',
    service: 'a',
    duration_ms: 0,
    complete: true,
    incomplete: [],
    request: { messages, offered: ['add', 'sub'], tools: [add], max_iterations: 5 },
    turns: [],
    calls,
    answer: { content: '', stop_reason: 'stop' },
  }) satisfies Cassette

test('a run becomes a case with its request, mocks and calls', () => {
  const system = { role: 'system', content: 'Be brief.' } as const
  const made = [called({ n: 1 }, 2), called({ n: 5 }, 6, { iteration: 2 })]
  expect(cassetteCase(cassette(made, [system, { role: 'user', content: 'Go' }]))).toEqual({
    id: 'run-run-1',
    query: 'Go',
    messages: [system],
    tools: [add, 'sub'],
    mocks: { add: 2 },
    expect: {
      calls: [
        { tool: 'add', params: { n: 1 } },
        { tool: 'add', params: { n: 5 } },
      ],
    },
  })
})

test('calls that the model did not make, or that were refused, are not expected', () => {
  const made = [
    called({ n: 0 }, 1, { iteration: 0 }),
    called({ n: 'x' }, 0, { result: failed('INVALID_PARAMETERS') }),
    called({ n: 1 }, 2, { not_run: true }),
    called({ n: 9 }, 0, { result: failed('TIMEOUT') }),
  ]
  expect(cassetteCase(cassette(made))).toMatchObject({ expect: { calls: [{ tool: 'add', params: { n: 9 } }] } })
  expect(cassetteCase(cassette(made.slice(0, 3))).expect).toEqual({ no_call: true })
})

test('escapes values, and matches anything for redacted ones', () => {
  const params = { token: '[redacted]', query: { $any: true, a: 1 }, list: [{ key: 'is [redacted]' }] }
  const written = cassetteCase(cassette([called(params, 1)]))
  expect(written.expect.calls?.[0]?.params).toEqual({
    token: { $any: true },
    query: { $equals: { $any: true, a: 1 } },
    list: [{ key: { $any: true } }],
  })
  const suite = buildSuite({ name: 'one', cases: [{ place: 'here', value: { ...written, tools: [add] } }] }, [])
  const judge = (sent: object) =>
    suite.cases[0]?.judge([{ calls: [{ tool: 'add', params: { ...params, ...sent } }], answer: '' }])
  expect(judge({ token: 'hunter2' })).toEqual({ passed: true })
  expect(judge({ query: 7 })).toMatchObject({ passed: false })
})

test('a run without a user message has no case', () => {
  expect(() => cassetteCase(cassette([], [{ role: 'system', content: 'Be brief.' }]))).toThrow(CassetteError)
})
