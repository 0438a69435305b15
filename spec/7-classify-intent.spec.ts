import { describe, expect, test } from 'vitest'
import { replying } from './fixtures/knowledge.ts'

const text = 'I was charged twice and want my money back.'
const categories = ['billing', 'support']

describe('classify_intent (30 s)', () => {
  test('[7.4-1] classifies with a confidence from 0 to 1', async () => {
    const { execute, registry, model } = await replying(
      '{"intent": "billing", "confidence": 0.93}',
      '{"intent": "complaint", "confidence": "0.8"}',
      '{"intent": "billing", "confidence": 93}',
    )
    expect(registry.get('classify_intent')).toMatchObject({ timeout_ms: 30_000 })
    expect(await execute('classify_intent', { text, categories })).toMatchObject({
      result: { intent: 'billing', confidence: 0.93 },
    })
    expect(model.requests[0]?.messages[0]?.content).toContain('"billing","support"')
    expect(await execute('classify_intent', { text })).toMatchObject({
      result: { intent: 'complaint', confidence: 0.8 },
    })
    expect(await execute('classify_intent', { text, categories })).toMatchObject({ result: { confidence: 1 } })
  })

  test('[7.4-2] takes 0.5 for a reply without confidence', async () => {
    const { execute } = await replying('{"intent": "billing"}')
    expect(await execute('classify_intent', { text, categories })).toMatchObject({
      result: { intent: 'billing', confidence: 0.5 },
    })
  })

  test('[7.4-3] gives unknown for a reply it cannot use', async () => {
    const elsewhere = '{"intent": "weather", "confidence": 1}'
    const { execute } = await replying(
      '',
      'It is billing.',
      'Billing!',
      '{"confidence": 1}',
      '[]',
      elsewhere,
      elsewhere,
    )
    for (let call = 0; call < 4; call++) {
      expect(await execute('classify_intent', { text, categories })).toMatchObject({
        success: true,
        result: { intent: 'unknown', confidence: 0 },
      })
    }
  })
})
