import { describe, expect, test } from 'vitest'
import type { OfferedTool } from '../base/port.ts'
import { sayResults } from './conversation.ts'

const weather: OfferedTool = {
  name: 'get_weather',
  description: '',
  parameters: { type: 'object', properties: { location: {}, units: { default: 'celsius' } } },
}

function say(said: string, name: string, params: object, envelope: object): string {
  const calls = [{ id: '1', type: 'function' as const, function: { name, arguments: JSON.stringify(params) } }]
  const content = JSON.stringify(envelope)
  return sayResults([{ role: 'tool', tool_call_id: '1', name, content }], { calls, tools: [weather], said })
}

describe('what is said of results', () => {
  test.each<[string, string, object, unknown, string]>([
    [
      'weather in Paris?',
      'get_weather',
      { location: 'Paris' },
      { temperature: 22, condition: 'sunny', humidity: 65 },
      'Paris: temperature 22 °C, condition sunny, humidity 65%.',
    ],
    ['x', 'get_weather', { location: 'Rome', units: 'fahrenheit' }, { temperature: 70 }, 'Rome: temperature 70 °F.'],
    [
      'Calculate 15% tip on $45',
      'calculate',
      { expression: '45 * 0.15' },
      { result: 6.75 },
      '15% tip on $45 is $6.75.',
    ],
    ['x', 'search_documents', { query: 'tea' }, { results: [] }, 'I found nothing about "tea".'],
    ['x', 'lock_door', {}, true, 'Lock door: yes.'],
    ['x', 'lock_door', { door: 'front' }, 'The door is locked.', 'The door is locked.'],
    ['x', 'lock_door', { door: 'front' }, 'locked', 'front: locked.'],
    ['x', 'list_rooms', {}, ['hall', 'attic'], 'List rooms: hall, attic.'],
    ['x', 'string', { operation: 'reverse', text: 'hello' }, { result: 'olleh' }, 'Reverse of hello: olleh.'],
    ['x', 'string', { operation: 'count', text: 'banana', search: 'a' }, { result: 3 }, 'Count of a in banana: 3.'],
    ['x', 'string', { operation: 'split', text: 'a b' }, { result: ['a', 'b'] }, 'Split of a b: a, b.'],
    [
      'x',
      'datetime',
      { operation: 'diff' },
      { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z', unit: 'days', value: 1, milliseconds: 1 },
      'From 2026-01-01 to 2026-01-02: 1 day.',
    ],
    [
      'x',
      'datetime',
      { operation: 'format', date: '2027-07-04' },
      { formatted: '2027-07-04T00:00:00.000Z', iso: 'x', timezone: 'UTC', weekday: 'Sunday' },
      '2027-07-04: 2027-07-04, Sunday.',
    ],
    ['x', 'echo', { text: 'hello world' }, { echo: { text: 'hello world' } }, 'hello world'],
  ])('%s %s %j', (said, name, params, result, sentence) => {
    expect(say(said, name, params, { success: true, result })).toBe(sentence)
  })

  test('passages are named with their files, and the best is begun', () => {
    const results = [
      { text: 'One\nbudget.', source: 'a.md' },
      { text: 'Two', source: 'b.md' },
    ]
    expect(say('x', 'search', { query: 'calls' }, { success: true, result: { results } })).toBe(
      'About "calls" I found 2 passage(s), in a.md, b.md. The best begins: One budget.',
    )
  })

  test('a failure is said as it is', () => {
    expect(say('x', 'get_weather', {}, { success: false, error: 'No such place', error_code: 'EXECUTION_ERROR' })).toBe(
      'Sorry, the tool get_weather failed: No such place',
    )
  })

  test('what is no envelope is shown, and long values are cut', () => {
    const results = [{ role: 'tool' as const, tool_call_id: '1', name: 'read', content: 'x'.repeat(1000) }]
    expect(sayResults(results, { calls: [], tools: [], said: '' }).length).toBeLessThan(400)
  })
})
