import { describe, expect, test } from 'vitest'
import { replying, withKnowledgeTools } from './fixtures/knowledge.ts'

/** Sections of which each is a chunk. */
const sections = (count: number): string =>
  Array.from({ length: count }, (_, index) => `## Part ${index}\n\n${'Some words on it. '.repeat(10)}`).join('\n\n')

describe('tag_chunk_docs (30 s)', () => {
  test('[7.5-1] tags chunks with at most 5 model calls at a time', async () => {
    let [open, most, asked] = [0, 0, 0]
    const { execute, registry } = await withKnowledgeTools({
      id: 'counting:calls',
      async *stream() {
        most = Math.max(most, ++open)
        asked++
        await new Promise((resolve) => setTimeout(resolve, 5))
        open--
        yield { type: 'text-delta', text: '{"tags": ["words", "parts"]}' } as const
        yield { type: 'finish', reason: 'stop' } as const
      },
    })
    expect(registry.get('tag_chunk_docs')).toMatchObject({ timeout_ms: 30_000 })
    const reports: unknown[] = []
    const content = sections(12)
    const called = execute('tag_chunk_docs', { content, chunk_size: 220 }, { report: (one) => void reports.push(one) })
    expect(await called).toMatchObject({
      result: {
        chunks: Array.from({ length: 12 }, (_, index) => ({
          index,
          text: expect.stringContaining(`## Part ${index}\n`),
          tags: ['words', 'parts'],
        })),
      },
    })
    expect([most, asked, reports.length]).toEqual([5, 12, 12])
    const whole = (await execute('tag_chunk_docs', { content: 'A short document.' })) as { result: object }
    expect(whole.result).toMatchObject({ chunks: [{ index: 0, text: 'A short document.', tags: ['words', 'parts'] }] })
  })

  test('[7.5-2] gives no chunks for empty content', async () => {
    const { execute, model } = await replying()
    expect(await execute('tag_chunk_docs', { content: '' })).toMatchObject({ result: { chunks: [] } })
    expect(model.requests).toEqual([])
  })

  test('[7.5-3] falls back to no tags', async () => {
    const { execute } = await replying('', 'Tags?', 'None.', '{"tags": 5}', '{"labels": []}')
    for (let call = 0; call < 3; call++) {
      const { result } = (await execute('tag_chunk_docs', { content: 'A short document.' })) as { result?: unknown }
      expect(result).toMatchObject({ chunks: [{ index: 0, text: 'A short document.', tags: [] }] })
    }
  })
})
