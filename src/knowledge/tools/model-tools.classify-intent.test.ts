import { describe, expect, test } from 'vitest'
import { scripted } from '../../testing/stand-ins.ts'
import { toolsOver } from './fixtures/call-tool.ts'

const categories = ['billing', 'Cancel Order']
const unknown = { intent: 'unknown', confidence: 0, method: 'model' }

async function classify(replies: readonly string[], params: object = { categories }) {
  const model = scripted(...replies)
  const result = await toolsOver(model).call('classify_intent', { text: 'I want my money back.', ...params })
  return { result, model }
}

describe('returns an intent with a confidence', () => {
  test.each([
    ['as asked for', '{"intent": "billing", "confidence": 0.9}', { intent: 'billing', confidence: 0.9 }],
    ['a number as text', '{"intent": "billing", "confidence": "0.9"}', { intent: 'billing', confidence: 0.9 }],
    ['too much', '{"intent": "billing", "confidence": 95}', { intent: 'billing', confidence: 1 }],
    ['too little', '{"intent": "billing", "confidence": -1}', { intent: 'billing', confidence: 0 }],
    ['none', '{"intent": "billing"}', { intent: 'billing', confidence: 0.5 }],
    ['one in words', '{"intent": "billing", "confidence": "high"}', { intent: 'billing', confidence: 0.5 }],
    ['an empty one', '{"intent": "billing", "confidence": ""}', { intent: 'billing', confidence: 0.5 }],
    ['null', '{"intent": "billing", "confidence": null}', { intent: 'billing', confidence: 0.5 }],
    ['other letters', '{"Intent": " cancel order", "Confidence": 1}', { intent: 'Cancel Order', confidence: 1 }],
    ['more than asked for', '{"intent": "billing", "why": "money"}', { intent: 'billing', confidence: 0.5 }],
  ])('%s', async (_, reply, expected) => {
    const { result, model } = await classify([reply])
    expect(result).toEqual({ ...expected, method: 'model' })
    expect(model.requests).toHaveLength(1)
  })
})

test('S13 restricts the model to the default categories without others', async () => {
  const { result, model } = await classify(['{"intent": "request", "confidence": 0.8}'], {})
  expect(result).toEqual({ intent: 'request', confidence: 0.8, method: 'model' })
  const intents = ['question', 'request', 'complaint', 'feedback', 'greeting', 'other', 'unknown']
  expect(model.requests[0]?.response_schema).toMatchObject({ properties: { intent: { enum: intents } } })
})

test('restricts the model to the categories and unknown', async () => {
  const { result, model } = await classify(['{"intent": "unknown", "confidence": 0.9}'])
  expect(result).toEqual(unknown)
  expect(model.requests[0]?.response_schema).toMatchObject({
    properties: { intent: { enum: ['billing', 'Cancel Order', 'unknown'] } },
  })
})

test('accepts unknown as a category', async () => {
  const { result } = await classify(['{"intent": "Unknown", "confidence": 0.9}'], { categories: ['a', 'unknown'] })
  expect(result).toEqual({ intent: 'unknown', confidence: 0.9, method: 'model' })
})

test('asks again for an intent outside the categories', async () => {
  const { result, model } = await classify(['{"intent": "refund", "confidence": 1}', '{"intent": "billing"}'])
  expect(result).toEqual({ intent: 'billing', confidence: 0.5, method: 'model' })
  expect(model.requests[1]?.messages.at(-1)?.content).toContain('intent must be one of: billing, Cancel Order, unknown')
})

test.each([
  ['nothing', ['']],
  ['none of the categories, twice', ['{"intent": "refund", "confidence": 1}', '{"intent": "refund"}']],
  ['words', ['Billing, I am sure.', 'Billing!']],
  ['no intent', ['{"confidence": 1}', '{"intent": ""}']],
  ['something else', ['{"intent": ["billing"]}', '[1]']],
])('returns unknown for a reply of %s', async (_, replies) => {
  const { result, model } = await classify(replies)
  expect(result).toEqual(unknown)
  expect(model.requests).toHaveLength(replies.length)
})

test('asks no model about a blank text', async () => {
  expect((await classify([], { text: '  ' })).result).toEqual(unknown)
})
