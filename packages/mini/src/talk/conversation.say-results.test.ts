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
      "It's 22 °C and sunny in Paris, humidity 65%.",
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

  const found = (results: object[]) => say('x', 'search', { query: 'calls' }, { success: true, result: { results } })

  test('passages are named with their files, and the best is shown', () => {
    const two = { text: 'Two', source: 'b.md' }
    expect(found([{ text: 'One\nbudget.', source: 'a.md' }, two])).toBe(
      'About "calls" I found 2 passages, in a.md, b.md. The best, from a.md: One budget.',
    )
    expect(found([two])).toBe('About "calls" I found 1 passage, in b.md. The best, from b.md: Two')
  })

  test('a table of contents, a table and code are not the best passage', () => {
    const contents = {
      text: '# Tools\n\n- [calculate](tools/calculate.md)\n- [datetime](tools/datetime.md), [echo](echo.md)',
      source: 'tools.md',
    }
    const table = { text: '## Limits\n\n| key | value |\n| --- | --- |\n| calls | 5 |', source: 'limits.md' }
    const code = { text: '```sh\ntoolyard tools --check\n```', source: 'cli.md' }
    const prose = {
      text: 'of the call. A call has **one** deadline, see [deadlines](life.md): `30 s` if nothing else is set.',
      source: 'life.md',
    }
    expect(found([contents, table, code, prose])).toBe(
      'About "calls" I found 4 passages, in tools.md, limits.md, cli.md, life.md. The best, from life.md: A call has one deadline, see deadlines: 30 s if nothing else is set.',
    )
    expect(found([table])).toContain('The best, from limits.md: ## Limits | key | value |')
  })

  test.each<[object, string]>([
    [{ summary: 'Oslo was chosen.', format: 'paragraph', metadata: {}, method: 'embedded' }, 'Oslo was chosen.'],
    [{ intent: 'cancel_order', confidence: 0.92, method: 'embedded' }, 'Intent: cancel order (92% sure).'],
    [{ entities: { people: ['Ada', 'Bob'], places: [] } }, 'People: Ada, Bob; places: nothing.'],
  ])('what was read from a text is said plainly: %j', (result, sentence) => {
    expect(say('x', 'read', { text: 'x' }, { success: true, result })).toBe(sentence)
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
