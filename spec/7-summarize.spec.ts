import { describe, expect, test } from 'vitest'
import { replying } from './fixtures/knowledge.ts'

const text = 'The committee met on Monday. After two hours it chose Oslo as the place of the next meeting.'

describe('summarize (30 s)', () => {
  test('[7.2-1] summarises as a paragraph or as bullet points', async () => {
    const { execute, model, registry } = await replying(
      '{"summary": "The next meeting is in Oslo."}',
      '{"summary": "- Meeting on Monday\\n- Next: Oslo"}',
    )
    expect(registry.get('summarize')).toMatchObject({ timeout_ms: 30_000 })
    expect(await execute('summarize', { text })).toMatchObject({
      success: true,
      result: {
        summary: 'The next meeting is in Oslo.',
        format: 'paragraph',
        metadata: { input_length: text.length, summary_length: 28 },
      },
    })
    expect(await execute('summarize', { text, format: 'bullet_points' })).toMatchObject({
      result: { summary: '- Meeting on Monday\n- Next: Oslo', format: 'bullet_points' },
    })
    const [first, second] = model.requests.map(({ messages }) => messages[0]?.content)
    expect(second).not.toBe(first)
    expect(await execute('summarize', { text, format: 'haiku' })).toMatchObject({
      error: 'Invalid parameters: format must be one of: paragraph, bullet_points',
      error_code: 'INVALID_PARAMETERS',
    })
    expect(await execute('summarize', { text: 'x'.repeat(200_001) })).toMatchObject({
      error: expect.stringContaining('200000'),
      error_code: 'INVALID_PARAMETERS',
    })
  })

  test('[7.2-2] falls back to the reply as it is', async () => {
    const { execute } = await replying('The next meeting is in Oslo.', '{"short": 1}', '{"shorter": 2}', '')
    const summaries = []
    for (let call = 0; call < 3; call++) summaries.push(await execute('summarize', { text }))
    expect(summaries).toMatchObject([
      { result: { summary: 'The next meeting is in Oslo.', metadata: { summary_length: 28 } } },
      { result: { summary: '{"shorter": 2}' } },
      { result: { summary: '', metadata: { summary_length: 0 } } },
    ])
  })
})
