import { describe, test } from 'vitest'

describe('summarize (30 s)', () => {
  test.todo('{text, format?} gives {summary, format, metadata: {input_length, summary_length}}')
  test.todo('fallback: the reply as it is')
})
