import { expect, test } from 'vitest'
import type { ResponseRule } from './response-rule.ts'
import { ruleRun } from './rule-run.ts'

const rule: ResponseRule = { llm: 'ollama', model: 'llama3.2:3b', prompt: '' }

test('a rule without tools offers none', () => {
  expect(ruleRun(rule)).toEqual({
    model_id: 'ollama:llama3.2:3b',
    service: 'ollama',
    allowed_tools: [],
  })
})

test.each([undefined, false, 'true', 1])('enabled: %j enables nothing', (enabled) => {
  const tools = { enabled, allowed_tools: ['a'] } as NonNullable<ResponseRule['tools']>
  expect(ruleRun({ ...rule, tools }).allowed_tools).toEqual([])
})

test('enabled without a list is every tool, and with one these', () => {
  expect(ruleRun({ ...rule, tools: { enabled: true } })).not.toHaveProperty('allowed_tools')
  expect(ruleRun({ ...rule, tools: { enabled: true, allowed_tools: ['a'] } }).allowed_tools).toEqual(['a'])
})

test("what the rule says of a run is the run's", () => {
  const more = { max_tokens: 9, temperature: 0, budget: { tokens: 1 }, tools: { max_iterations: 2 } }
  expect(ruleRun({ ...rule, ...more })).toMatchObject({
    max_tokens: 9,
    temperature: 0,
    budget: { tokens: 1 },
    max_iterations: 2,
  })
})

test('a model that is written with its provider is not given it twice', () => {
  expect(ruleRun({ ...rule, llm: 'openai', model: 'openai:gpt-4o' }).model_id).toBe('openai:gpt-4o')
})
