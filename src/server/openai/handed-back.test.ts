import { describe, expect, test } from 'vitest'
import { LOCAL_CALLER } from '../../app/callers/callers.ts'
import type { Message, ToolCall } from '../../models/model.ts'
import { ManualClock } from '../../testing/stand-ins.ts'
import { HandedBackCalls, newCallId } from './handed-back.ts'

const call = (id: string, name: string): ToolCall => ({ id, type: 'function', function: { name, arguments: '{}' } })
const result = (id: string, name: string, content: string): Message => ({
  role: 'tool',
  tool_call_id: id,
  name,
  content,
})
const USER: Message = { role: 'user', content: 'Go' }

/** What a run did: a write of ours, then a turn that calls two tools of the client and one of ours. */
const ADDED: readonly Message[] = [
  { role: 'assistant', content: null, tool_calls: [call('m1', 'write')], metadata: { signature: 'a' } },
  result('m1', 'write', 'written'),
  {
    role: 'assistant',
    content: 'Now you.',
    tool_calls: [call('m2', 'ask'), call('m3', 'write'), call('m4', 'show')],
    metadata: { signature: 'b' },
  },
  result('m3', 'write', 'not run'),
]
const IDS = new Map([
  ['c2', 'm2'],
  ['c4', 'm4'],
])

/** What the client sends when it comes back. */
const CONTINUED: readonly Message[] = [
  USER,
  { role: 'assistant', content: 'Now you.', tool_calls: [call('c2', 'ask'), call('c4', 'show')] },
  // In the order in which they were ready.
  result('c4', 'show', 'shown'),
  result('c2', 'ask', 'yes'),
]

function kept() {
  const clock = new ManualClock()
  const calls = new HandedBackCalls(clock)
  calls.keep(LOCAL_CALLER, ADDED, IDS)
  return { clock, calls }
}

describe('calls that were handed back', () => {
  test('are restored once: a request that repeats them is refused', () => {
    const { calls } = kept()
    const repeated = [...CONTINUED, ...CONTINUED.slice(1)]
    expect(() => calls.restore(LOCAL_CALLER, repeated)).toThrow('messages[4] repeats tool calls of an earlier message')
    expect(calls.restore(LOCAL_CALLER, CONTINUED)).toHaveLength(7)
  })

  test('are restored with the earlier turns and the ids of the model', () => {
    const { calls } = kept()
    expect(calls.restore(LOCAL_CALLER, CONTINUED)).toEqual([
      USER,
      ...ADDED.slice(0, 3),
      result('m2', 'ask', 'yes'),
      result('m3', 'write', 'not run'),
      result('m4', 'show', 'shown'),
    ])
  })

  test.each([
    ['large ones', 80, 'x'.repeat(1024 * 1024)],
    ['many', 10_100, ''],
  ])('are not displaced by those of another tenant: %s', (_, count, content) => {
    const { calls } = kept()
    const other = { ...LOCAL_CALLER, id: 'other', tenant: 'other' }
    for (let at = 0; at < count; at++) {
      calls.keep(other, [{ role: 'assistant', content, tool_calls: [call('m1', 'ask')] }], new Map([[`c${at}`, 'm1']]))
    }
    const back = (at: number): Message[] => [
      { role: 'assistant', content: null, tool_calls: [call(`c${at}`, 'ask')] },
      result(`c${at}`, 'ask', 'yes'),
    ]
    expect(calls.restore(LOCAL_CALLER, CONTINUED)).toHaveLength(7)
    const idOf = (at: number) =>
      calls.restore(other, back(at)).flatMap((one) => ('tool_call_id' in one ? one.tool_call_id : []))
    expect([idOf(0), idOf(count - 1)]).toEqual([['c0'], ['m1']])
  })

  test('are restored anywhere in the conversation, and more than once', () => {
    const { calls } = kept()
    calls.keep(
      LOCAL_CALLER,
      [{ role: 'assistant', content: null, tool_calls: [call('m2', 'ask')] }],
      new Map([['c9', 'm2']]),
    )
    const later: Message[] = [
      { role: 'assistant', content: null, tool_calls: [call('c9', 'ask')] },
      result('c9', 'ask', 'no'),
      { role: 'user', content: 'And then?' },
    ]
    for (const _ of [1, 2]) {
      const restored = calls.restore(LOCAL_CALLER, [...CONTINUED, ...later])
      expect(restored).toHaveLength(10)
      expect(restored.slice(-3)).toEqual([
        { role: 'assistant', content: null, tool_calls: [call('m2', 'ask')] },
        result('m2', 'ask', 'no'),
        { role: 'user', content: 'And then?' },
      ])
    }
  })

  test.each([
    ['another tenant', { ...LOCAL_CALLER, tenant: 'other' }],
    ['another caller of the tenant', { ...LOCAL_CALLER, id: 'other' }],
  ])('are unknown to %s', (_, caller) => {
    const { calls } = kept()
    expect(calls.restore(caller, CONTINUED)).toEqual(CONTINUED)
  })

  test('are forgotten an hour after they were last asked for', () => {
    const { calls, clock } = kept()
    clock.advance(59 * 60_000)
    expect(calls.restore(LOCAL_CALLER, CONTINUED)).toHaveLength(7)
    clock.advance(59 * 60_000)
    expect(calls.restore(LOCAL_CALLER, CONTINUED)).toHaveLength(7)
    clock.advance(61 * 60_000)
    expect(calls.restore(LOCAL_CALLER, CONTINUED)).toEqual(CONTINUED)
  })

  test('are unchanged unless they were handed back together', () => {
    const { calls } = kept()
    const [, assistant] = CONTINUED
    const some = (...ids: string[]): Message[] => [
      USER,
      { role: 'assistant', content: null, tool_calls: ids.map((id) => call(id, 'ask')) },
      ...ids.map((id) => result(id, 'ask', 'x')),
    ]
    expect(assistant?.role).toBe('assistant')
    for (const messages of [some('c2'), some('c2', 'x'), some('x'), some('c2', 'c4', 'x')]) {
      expect(calls.restore(LOCAL_CALLER, messages)).toEqual(messages)
    }
  })

  test('have ids that all providers take', () => {
    expect(newCallId()).toMatch(/^call_[0-9a-f]{24}$/)
    expect(newCallId()).not.toBe(newCallId())
  })
})
