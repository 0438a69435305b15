import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../src/core/clock.ts'
import { silentLog } from '../src/core/log.ts'
import { Collections } from '../src/knowledge/collections/collections.ts'
import { openTemporaryStore } from '../src/knowledge/collections/open-temporary-store.ts'
import { ragQueryHandler } from '../src/knowledge/tools/collection-tools.ts'
import { boundParameters } from '../test/setup/architecture-rules.ts'
import { parseSource, readSources } from '../test/setup/source-file.ts'
import { withTools } from './fixtures/tool-manager.ts'

describe('Safety of tools', () => {
  test('[2.9-1] confines file tools to configured directories, also through .. and links', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolyard-safety-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const [docs, outside] = [join(folder, 'docs'), join(folder, 'outside')]
    mkdirSync(docs)
    mkdirSync(outside)
    writeFileSync(join(docs, 'open.md'), '# Herons\n\nA heron stands in the open.\n')
    writeFileSync(join(outside, 'hidden.md'), '# Herons\n\nA heron hides outside.\n')
    symlinkSync(join(outside, 'hidden.md'), join(docs, 'link.md'))
    symlinkSync(outside, join(docs, 'linked-folder'))

    const { knowledge, close } = await openTemporaryStore({ log: silentLog })
    onTestFinished(close)
    const collections = new Collections({
      store: async () => knowledge,
      embedder: async () => undefined,
      log: silentLog,
      clock: systemClock,
      docs: pathToFileURL(`${docs}/`),
    })
    const { execute } = await withTools({ search: { run: ragQueryHandler(collections) } })
    const found = await execute('search', { query: 'heron' })
    expect(found).toMatchObject({ success: true, result: { results: [{ source: 'open.md' }] } })
    expect(JSON.stringify(found)).not.toContain('hides')
    for (const collection of ['..', '../outside', outside]) {
      expect(await execute('search', { query: 'heron', collection })).toMatchObject({
        error_code: 'INVALID_PARAMETERS',
      })
    }
  })

  test('[2.9-2] accesses databases with bound parameters only', () => {
    const sources = readSources(fileURLToPath(new URL('..', import.meta.url)), 'src')
    expect(sources.length).toBeGreaterThan(100)
    expect(boundParameters(sources)).toEqual([])
    const bound = "const find = database.prepare('SELECT * FROM calls WHERE id = ?')"
    const glued = 'const find = database.prepare(`SELECT * FROM calls WHERE id = ${id}`)'
    const added = "const find = database.prepare('SELECT * FROM calls WHERE id = ' + id)"
    const caught = [bound, glued, added].map((text) => boundParameters([parseSource('src/a.ts', text)]).length)
    expect(caught).toEqual([0, 1, 1])
  })
})
