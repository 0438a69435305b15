import { describe, test } from 'vitest'

describe('classify_intent (30 s)', () => {
  test.todo('{text, categories?} gives {intent, confidence}, 0 to 1')
  test.todo('a reply without confidence gets 0.5')
  test.todo('an unusable one {intent: "unknown", confidence: 0}')
})
