import { expect, test } from 'vitest'
import { type ResponseRule, ruleRun } from './response-rules.ts'

const rule: ResponseRule = { llm: 'ollama', model: 'llama3.2:3b', prompt: '' }

test('offers no tools without tools.enabled', () => {
  expect(ruleRun(rule)).toEqual({
    model_id: 'ollama:llama3.2:3b',
    service: 'ollama',
    allowed_tools: [],
  })
})

test.each([undefined, false, 'true', 1])('ignores enabled: %j', (enabled) => {
  const tools = { enabled, allowed_tools: ['a'] } as NonNullable<ResponseRule['tools']>
  expect(ruleRun({ ...rule, tools }).allowed_tools).toEqual([])
})

test('offers every tool, or those in allowed_tools', () => {
  expect(ruleRun({ ...rule, tools: { enabled: true } })).not.toHaveProperty('allowed_tools')
  expect(ruleRun({ ...rule, tools: { enabled: true, allowed_tools: ['a'] } }).allowed_tools).toEqual(['a'])
})

test("passes the rule's settings to the run", () => {
  const more = { max_tokens: 9, temperature: 0, budget: { tokens: 1 }, tools: { max_iterations: 2 } }
  expect(ruleRun({ ...rule, ...more })).toMatchObject({
    max_tokens: 9,
    temperature: 0,
    budget: { tokens: 1 },
    max_iterations: 2,
  })
})

test('accepts a model id that includes the provider', () => {
  expect(ruleRun({ ...rule, llm: 'openai', model: 'openai:gpt-4o' }).model_id).toBe('openai:gpt-4o')
})
