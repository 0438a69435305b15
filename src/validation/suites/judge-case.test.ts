import { describe, expect, test } from 'vitest'
import type { Params, ToolDefinition } from '../../core/tool.ts'
import { assign, judgeCase } from './judge-case.ts'
import type { Expectation, ObservedCall } from './suite.ts'

const tool = (name: string, properties: object): ToolDefinition => ({
  name,
  description: name,
  parameters: { type: 'object', properties },
  implementation: { type: 'mock' },
})
const tools = [
  tool('weather', { city: { type: 'string' }, units: { enum: ['c', 'f'], default: 'c' } }),
  tool('mail', { to: { type: 'string' } }),
]
const call = (name: string, params?: Params): ObservedCall => ({ tool: name, params })
const judge = (expect: Expectation, calls: readonly ObservedCall[], answer = '') =>
  judgeCase(expect, { calls, answer }, tools)
const paris = { calls: [{ tool: 'weather', params: { city: 'Paris' } }] }

describe('expected calls', () => {
  test.each<[string, Expectation, ObservedCall[], string]>([
    ['the call itself', paris, [call('weather', { city: 'Paris' })], 'passed'],
    ['no call', paris, [], 'wrong_count'],
    ['one too many', paris, [call('weather', { city: 'Paris' }), call('mail', {})], 'wrong_count'],
    ['another tool', paris, [call('mail', { to: 'Paris' })], 'wrong_tool'],
    ['a tool that was not offered', paris, [call('wether', { city: 'Paris' })], 'wrong_tool'],
    ['no JSON', paris, [call('weather')], 'malformed_call'],
    ['no parameter', paris, [call('weather', {})], 'missing_parameter'],
    ['a parameter too many', paris, [call('weather', { city: 'Paris', day: 1 })], 'unexpected_parameter'],
    ['a list for a text', paris, [call('weather', { city: ['Paris'] })], 'wrong_type'],
    ['another city', paris, [call('weather', { city: 'Rome' })], 'wrong_value'],
    ['an explicit default', paris, [call('weather', { city: 'Paris', units: 'c' })], 'passed'],
    ['no default', paris, [call('weather', { city: 'Paris', units: 'f' })], 'unexpected_parameter'],
    ['any parameters if none are expected', { calls: [{ tool: 'mail' }] }, [call('mail', { a: 1 })], 'passed'],
  ])('%s: %#', (_what, expected, calls, outcome) => {
    const verdict = judge(expected, calls)
    expect(verdict.passed ? 'passed' : verdict.kind).toBe(outcome)
  })

  test('an expected default may be omitted, another value may not', () => {
    const units = (value: string) => ({ calls: [{ tool: 'weather', params: { city: 'Paris', units: value } }] })
    expect(judge(units('c'), [call('weather', { city: 'Paris' })])).toEqual({ passed: true })
    expect(judge(units('f'), [call('weather', { city: 'Paris' })])).toMatchObject({ kind: 'missing_parameter' })
  })

  test('a failure is described in one sentence, with expected and actual values', () => {
    expect(judge(paris, [call('weather', { city: 'Rome' })])).toEqual({
      passed: false,
      kind: 'wrong_value',
      message: 'weather: city is "Rome", expected "Paris".',
      tool: 'weather',
      expected: 'Paris',
      actual: 'Rome',
    })
  })

  test('may come in any order', () => {
    const calls = [
      { tool: 'weather', params: { city: { $any: true } } },
      { tool: 'weather', params: { city: 'Paris' } },
    ]
    const made = [call('weather', { city: 'Paris' }), call('weather', { city: 'Rome' })]
    expect(judge({ calls }, made)).toEqual({ passed: true })
    expect(judge({ calls, order: 'given' }, made)).toMatchObject({ kind: 'wrong_order' })
    expect(judge({ calls, order: 'given' }, made.toReversed())).toEqual({ passed: true })
  })

  test('blames the call that fits no other expectation', () => {
    const calls = [
      { tool: 'mail', params: { to: 'Ann' } },
      { tool: 'mail', params: { to: 'Bob' } },
    ]
    const verdict = judge({ calls }, [call('mail', { to: 'Bob' }), call('mail', { to: 'Ann ' })])
    expect(verdict).toMatchObject({ message: 'mail: to is "Ann ", expected "Ann".' })
  })
})

describe('unwanted calls', () => {
  test('any call fails a case with no_call', () => {
    expect(judge({ no_call: true }, [])).toEqual({ passed: true })
    expect(judge({ no_call: true }, [call('mail')])).toMatchObject({ kind: 'unwanted_call', tool: 'mail' })
  })

  test('a forbidden tool fails a case, other tools do not', () => {
    expect(judge({ forbidden: ['mail'] }, [call('weather', {})])).toEqual({ passed: true })
    const verdict = judge({ forbidden: ['mail'] }, [call('weather', {}), call('mail', {})])
    expect(verdict).toMatchObject({ kind: 'forbidden_call', tool: 'mail' })
  })
})

test('the answer must match, after the calls are right', () => {
  const expected = { ...paris, answer_matches: '/sunny/i' }
  const calls = [call('weather', { city: 'Paris' })]
  expect(judge(expected, calls, 'It is Sunny.')).toEqual({ passed: true })
  expect(judge(expected, calls, 'It rains.')).toMatchObject({
    kind: 'wrong_answer',
    message: 'The answer "It rains." does not match /sunny/i.',
  })
  expect(judge(expected, [], 'It is sunny.')).toMatchObject({ kind: 'wrong_count' })
})

describe('assign', () => {
  test('gives each row a column of its own, even if an earlier row has to change', () => {
    const rows = [
      [true, true, false],
      [true, false, false],
      [false, true, true],
    ]
    expect(assign(rows)).toEqual([1, 0, 2])
  })

  test('leaves as few rows as possible without a column', () => {
    const rows = assign([
      [true, false],
      [true, false],
    ])
    expect(rows.filter((column) => column === undefined)).toHaveLength(1)
    expect(assign([])).toEqual([])
  })
})
