import { describe, expect, test } from 'vitest'
import { captureLog } from '../../testing/capture-log.ts'
import { NoResponseRuleError } from './no-response-rule-error.ts'
import type { Profile, ResponseRule } from './response-rule.ts'
import { ResponseRules } from './response-rules.ts'

const rule = (model: string, match?: ResponseRule['match'], prompt = ''): ResponseRule => ({
  llm: 'mini',
  model,
  prompt,
  ...(match && { match }),
})

const rules = new ResponseRules([
  rule('weather', { intent_regexp: '/weather|forecast/i' }),
  rule('paid', { service: 'docs', paying: true, tier: 2 }),
  rule('both', { service: 'docs', intent_regexp: '/^how/i' }),
])

const answering = (profile: Profile, message = '') => rules.match(profile, message).model

describe('ResponseRules', () => {
  test('the pattern looks at the intent, and at the message only where there is none', () => {
    expect(answering({ intent: 'Weather' }, 'hello')).toBe('weather')
    expect(answering({}, 'The FORECAST, please')).toBe('weather')
    expect(answering({ intent: ' ' }, 'weather?')).toBe('weather')
    expect(() => answering({ intent: 'greeting' }, 'weather?')).toThrow(NoResponseRuleError)
  })

  test('every key must equal what the profile holds, type included', () => {
    expect(answering({ service: 'docs', paying: true, tier: 2, more: 1 })).toBe('paid')
    for (const other of [{ tier: '2' }, { tier: 3 }, { paying: 'true' }, { paying: undefined }]) {
      expect(() => answering({ service: 'docs', paying: true, tier: 2, ...other })).toThrow('No response rule matches')
    }
  })

  test('pattern and keys must both hold', () => {
    expect(answering({ service: 'docs' }, 'How?')).toBe('both')
    expect(() => answering({ service: 'docs' }, 'Why?')).toThrow(NoResponseRuleError)
    expect(() => answering({}, 'How?')).toThrow(NoResponseRuleError)
  })

  test('the first rule wins, and one without match takes the rest', () => {
    const ordered = new ResponseRules([
      rule('a', { topic: 'x' }),
      rule('b', { topic: 'x' }),
      rule('rest', {}),
      rule('c'),
    ])
    expect(ordered.match({ topic: 'x' }, '').model).toBe('a')
    expect(ordered.match({}, '').model).toBe('rest')
  })

  test('without rules nothing matches', () => {
    expect(() => new ResponseRules([]).match({}, 'x')).toThrow(new NoResponseRuleError())
  })
})

describe('the warnings of rules', () => {
  const warnings = (...given: ResponseRule[]) => {
    const log = captureLog()
    new ResponseRules(given, { log })
    return log.at('warn')
  }

  test('a variable that nothing is known of is warned about with its place', () => {
    expect(warnings(rule('a', undefined, '{{topic}} {{user_mesage}} {{zzz}}'))).toEqual([
      {
        place: 'responses[0].prompt',
        problem:
          "'{{user_mesage}}' is empty unless the profile of a request holds it: did you mean '{{user_message}}'?",
      },
      {
        place: 'responses[0].prompt',
        problem:
          "'{{zzz}}' is empty unless the profile of a request holds it: known are user_message, rag_context, intent, service, topic",
      },
    ])
  })

  test('what the request always has, and what some rule matches on, is known', () => {
    const prompt = '{{ user_message }} {{rag_context}} {{intent}} {{service}} {{topic}} {{tier}}'
    expect(warnings(rule('a', undefined, prompt), rule('b', { tier: 2 }))).toEqual([])
    expect(warnings(rule('a', { intent_regexp: '/a/' }, '{{intent_regexp}}'))).toHaveLength(1)
  })

  test('a misspelt intent_regexp is warned about: it would be compared with the profile', () => {
    expect(warnings(rule('a', { intent_regex: '/a/' }))).toMatchObject([{ place: 'responses[0].match.intent_regex' }])
  })
})
