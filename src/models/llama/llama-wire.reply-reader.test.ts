import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../model.ts'
import { grammarAsPattern } from './fixtures/grammar-as-pattern.ts'
import { ReplyReader } from './llama-wire.ts'
import { toolGrammar, writtenCall } from './schema-grammar.ts'

/** Reads a reply in pieces of so many characters. */
function read(reply: string, size: number): ModelEvent[] {
  const reader = new ReplyReader()
  const events: ModelEvent[] = []
  for (let at = 0; at < reply.length; at += size) events.push(...reader.read(reply.slice(at, at + size)))
  return [...events, ...reader.end()]
}

const textOf = (events: readonly ModelEvent[]) =>
  events.flatMap((event) => ('text' in event && typeof event.text === 'string' ? [event.text] : [])).join('')
const callOf = (events: readonly ModelEvent[]) =>
  events.flatMap((event) => (event.type === 'tool-call-end' ? [event.call.function] : []))

const weather = {
  name: 'get_weather',
  description: 'Tells the weather.',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
}

describe('a reply that is held to the grammar', () => {
  test('is a call of an offered tool with its arguments, or an answer that says something', () => {
    const pattern = grammarAsPattern(toolGrammar([weather, { ...weather, name: 'a"b' }]))
    for (const text of [
      '{"name": "get_weather", "arguments": {"location": "Paris"}}',
      '{"name": "a\\"b", "arguments": {"location":"Paris"}}',
      '{"answer": "It is \\"sunny\\"."}',
    ])
      expect(text).toMatch(pattern)
    for (const text of [
      '{"name": "other", "arguments": {"location": "Paris"}}',
      '{"name": "get_weather", "arguments": {}}',
      '{"answer": ""}',
      'It is sunny.',
    ])
      expect(text).not.toMatch(pattern)
  })

  test.each([1, 2, 3, 7, 1_000])('is read as a call, in pieces of %i', (size) => {
    const args = '{"location": "a}}\\"{", "deep": {"er": {}}}'
    const events = read(writtenCall('get_weather', args), size)
    expect(events[0]).toMatchObject({ type: 'tool-call-start', name: 'get_weather' })
    expect(textOf(events)).toBe(args)
    expect(callOf(events)).toEqual([{ name: 'get_weather', arguments: args }])
    expect(new Set(events.map((event) => ('id' in event ? event.id : 'call' in event && event.call.id))).size).toBe(1)
  })

  test.each([1, 2, 3, 7, 1_000])('is read as an answer, in pieces of %i', (size) => {
    const answer = 'It is "sunny",\n22 °C in {Paris} \\o/.'
    const events = read(JSON.stringify({ answer }).replace(':', ': '), size)
    expect(textOf(events)).toBe(answer)
    expect(events.every(({ type }) => type === 'text-delta')).toBe(true)
  })

  test.each([
    '{"name": "get_weather", "arguments": {"location": "Par',
    '{"name": "get_weather", "arguments": {"a": 1}',
    '{"na',
    '',
  ])('gives no call where it was cut off: %s', (reply) => {
    expect(callOf(read(reply, 3))).toEqual([])
  })
})
