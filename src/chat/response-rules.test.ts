import { describe, expect, test } from 'vitest'
import { captureLog } from '../testing/stand-ins.ts'
import { NoResponseRuleError, type Profile, type ResponseRule, ResponseRules } from './response-rules.ts'

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
  test('tests the pattern with the intent, or else with the message', () => {
    expect(answering({ intent: 'Weather' }, 'hello')).toBe('weather')
    expect(answering({}, 'The FORECAST, please')).toBe('weather')
    expect(answering({ intent: ' ' }, 'weather?')).toBe('weather')
    expect(() => answering({ intent: 'greeting' }, 'weather?')).toThrow(NoResponseRuleError)
  })

  test('compares keys with the profile strictly', () => {
    expect(answering({ service: 'docs', paying: true, tier: 2, more: 1 })).toBe('paid')
    for (const other of [{ tier: '2' }, { tier: 3 }, { paying: 'true' }, { paying: undefined }]) {
      expect(() => answering({ service: 'docs', paying: true, tier: 2, ...other })).toThrow('No response rule matches')
    }
  })

  test('requires both pattern and keys to match', () => {
    expect(answering({ service: 'docs' }, 'How?')).toBe('both')
    expect(() => answering({ service: 'docs' }, 'Why?')).toThrow(NoResponseRuleError)
    expect(() => answering({}, 'How?')).toThrow(NoResponseRuleError)
  })

  test('selects the first matching rule; one without match always matches', () => {
    const ordered = new ResponseRules([
      rule('a', { topic: 'x' }),
      rule('b', { topic: 'x' }),
      rule('rest', {}),
      rule('c'),
    ])
    expect(ordered.match({ topic: 'x' }, '').model).toBe('a')
    expect(ordered.match({}, '').model).toBe('rest')
  })

  test('throws without rules', () => {
    expect(() => new ResponseRules([]).match({}, 'x')).toThrow(new NoResponseRuleError())
  })
})

describe('warnings about rules', () => {
  const warnings = (...given: ResponseRule[]) => {
    const log = captureLog()
    new ResponseRules(given, { log })
    return log.at('warn')
  }

  test('names the place of an unknown variable', () => {
    expect(warnings(rule('a', undefined, '{{topic}} {{user_mesage}} {{zzz}}'))).toEqual([
      {
        place: 'responses[0].prompt',
        problem:
          "'{{user_mesage}}' is empty unless the request's profile contains it: did you mean '{{user_message}}'?",
      },
      {
        place: 'responses[0].prompt',
        problem:
          "'{{zzz}}' is empty unless the request's profile contains it: use one of user_message, rag_context, intent, service, topic",
      },
    ])
  })

  test('accepts built-in variables and keys that a rule matches on', () => {
    const prompt = '{{ user_message }} {{rag_context}} {{intent}} {{service}} {{topic}} {{tier}}'
    expect(warnings(rule('a', undefined, prompt), rule('b', { tier: 2 }))).toEqual([])
    expect(warnings(rule('a', { intent_regexp: '/a/' }, '{{intent_regexp}}'))).toHaveLength(1)
  })

  test('suggests intent_regexp for a misspelt key', () => {
    expect(warnings(rule('a', { intent_regex: '/a/' }))).toMatchObject([{ place: 'responses[0].match.intent_regex' }])
  })
})
