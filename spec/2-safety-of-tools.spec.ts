import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { docsSearch } from '../src/knowledge/docs-search.ts'
import { yard } from './yard.ts'

describe('Safety of tools', () => {
  test('a tool that touches files is confined to configured directories, also through .. and links', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolyard-safety-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const [docs, outside] = [join(folder, 'docs'), join(folder, 'outside')]
    mkdirSync(docs)
    mkdirSync(outside)
    writeFileSync(join(docs, 'open.md'), '# Herons\n\nA heron stands in the open.\n')
    writeFileSync(join(outside, 'hidden.md'), '# Herons\n\nA heron hides outside.\n')
    symlinkSync(join(outside, 'hidden.md'), join(docs, 'link.md'))
    symlinkSync(outside, join(docs, 'linked-folder'))

    const { execute } = await yard({ search: { run: docsSearch(docs) } })
    const found = await execute('search', { query: 'heron' })
    expect(found).toMatchObject({ success: true, result: { results: [{ source: 'open.md' }] } })
    expect(JSON.stringify(found)).not.toContain('hides')
    for (const collection of ['..', '../outside', outside]) {
      expect(await execute('search', { query: 'heron', collection })).toMatchObject({
        error_code: 'INVALID_PARAMETERS',
      })
    }
  })

  test.todo('database access is by bound parameters only')
})
