import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { documentsFolder } from '../../fixtures/documents-folder.ts'

const KETTLE = '# The kettle\n\n## Descaling\n\nPour vinegar into the kettle, and wait for an hour.\n'
const NO_VECTORS = 'Collection "docs" has no vectors: searched by words only.'

describe('toolyard search', () => {
  test('prints results on stdout, and notes on stderr that it searched by text only', async () => {
    const yard = await documentsFolder({ 'kettle.md': KETTLE })
    await yard.ingest(['.'])
    const { code, out, err } = await yard.search('vinegar')
    expect([code, err.trim()]).toEqual([0, NO_VECTORS])
    expect(out.split('\n')[0]).toMatch(/^1\. kettle\.md {2}The kettle.* {2}[01]\.\d{3}$/)
    expect(out).toContain('   Pour vinegar into the kettle, and wait for an hour.\n')
  })

  test('prints one document for programs, with the same note', async () => {
    const yard = await documentsFolder({ 'kettle.md': KETTLE })
    await yard.ingest(['.'])
    expect(await yard.searchJson('vinegar')).toEqual({
      collection: 'docs',
      by: 'text',
      note: NO_VECTORS,
      results: [
        {
          text: expect.stringContaining('vinegar'),
          score: expect.any(Number),
          source: 'kettle.md',
          position: 0,
          metadata: { title: 'The kettle', heading: expect.any(String) },
        },
      ],
    })
  })

  test("searches Toolyard's own documentation without a collection, and creates no store", async () => {
    const yard = await documentsFolder()
    const { code, out, err } = await yard.search('circuit breaker')
    expect([code, err.trim()]).toEqual([0, NO_VECTORS])
    expect(out).toContain('http-tools.md')
    expect(existsSync(yard.data)).toBe(false)
  })

  test('reports that nothing was found', async () => {
    const yard = await documentsFolder({ 'kettle.md': KETTLE })
    await yard.ingest(['.'])
    expect(await yard.search('quantum chromodynamics')).toMatchObject({
      code: 0,
      out: '',
      err: `No results.\n${NO_VECTORS}\n`,
    })
  })

  test('gives as many as are asked for', async () => {
    const pages = Array.from({ length: 8 }, (_, index) => [`${index}.md`, `Page ${index} is about kettles.`])
    const yard = await documentsFolder(Object.fromEntries(pages))
    await yard.ingest(['.'])
    expect((await yard.searchJson('kettles')).results).toHaveLength(5)
    expect((await yard.searchJson('kettles', { limit: '8' })).results).toHaveLength(8)
  })

  test('names the existing collections if one is unknown', async () => {
    const yard = await documentsFolder({ 'kettle.md': KETTLE })
    await yard.ingest(['.'], { collection: 'manuals' })
    await expect(yard.search('vinegar', { collection: 'nope' })).rejects.toThrow(/"nope".*"manuals"/)
  })

  test.each([
    ['', {}, 'The question is empty.'],
    ['x', { limit: '0' }, "--limit takes a whole number from 1 to 100, not '0'."],
    ['x', { filter: ['y'] }, "--filter takes key=value, not 'y'."],
  ])('refuses %j with %j', async (query, options, sentence) => {
    const yard = await documentsFolder()
    expect(await yard.search(query, options)).toMatchObject({ code: 2, err: sentence })
  })
})
