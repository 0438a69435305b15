import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { LLMock } from '@copilotkit/aimock'
import { describe, expect, onTestFinished, test } from 'vitest'
import { documentsFolder } from '../fixtures/documents-folder.ts'
import { BIN, ENV } from '../fixtures/toolyard.ts'

const KETTLE = '# The kettle\n\n## Descaling\n\nPour vinegar into the kettle and wait for an hour.\n'
const TOASTER = '# The toaster\n\n## Crumbs\n\nEmpty the crumb tray of the toaster every week.\n'

describe('toolyard ingest', () => {
  test('puts a folder into a collection, where it is found with its source and heading', async () => {
    const yard = await documentsFolder({ 'manuals/kettle.md': KETTLE, 'manuals/toaster.md': TOASTER })
    const { code, out, err } = await yard.ingest(['manuals'])
    expect([code, out.replace(/\d+\.\d s/, '… s'), err]).toEqual([
      0,
      'docs: 2 documents (2 chunks), 0 unchanged, 0 skipped, 0 failed, … s\n',
      expect.not.stringContaining('failed'),
    ])
    const { results } = await yard.searchJson('vinegar')
    expect(results).toMatchObject([
      { source: 'manuals/kettle.md', position: 0, metadata: { title: 'The kettle', heading: expect.any(String) } },
    ])
  })

  test('does not take in again what has not changed, and replaces what has', async () => {
    const yard = await documentsFolder({ 'kettle.md': KETTLE, 'toaster.md': TOASTER })
    await yard.ingest(['.'])
    await utimes(join(yard.folder, 'kettle.md'), new Date(), new Date())
    expect(await yard.ingestJson(['.'])).toMatchObject({ documents: 0, chunks: 0, unchanged: 2 })
    await yard.write({ 'kettle.md': KETTLE.replace('vinegar', 'lemon juice') })
    expect(await yard.ingestJson(['.'])).toMatchObject({ documents: 1, chunks: 1, unchanged: 1 })
    expect((await yard.searchJson('vinegar')).results).toEqual([])
    expect((await yard.searchJson('lemon')).results).toHaveLength(1)
  })

  test('takes it in again where it is to be cut or kept in another way', async () => {
    const yard = await documentsFolder({ 'kettle.md': KETTLE })
    await yard.ingest(['.'])
    const metadata = ['product=kettle', 'note=a=b']
    expect(await yard.ingestJson(['.'], { metadata })).toMatchObject({ documents: 1, unchanged: 0 })
    expect(await yard.ingestJson(['.'], { metadata, chunkSize: '50' })).toMatchObject({ documents: 1, unchanged: 0 })
    const { results } = await yard.searchJson('vinegar', { filter: ['product=kettle'] })
    expect(results[0].metadata).toMatchObject({ product: 'kettle', note: 'a=b' })
    expect((await yard.searchJson('vinegar', { filter: ['product=toaster'] })).results).toEqual([])
  })

  test('sends a long document in several calls, all of which are recorded, and finds all of it', async () => {
    const sections = Array.from(
      { length: 330 },
      (_, index) => `## Section ${index}\n\nWord${index} stands here alone.\n`,
    )
    const yard = await documentsFolder({ 'long.md': `# Long\n\n${sections.join('\n')}` })
    const server = await yard.serve()
    const { chunks } = await yard.ingestJson(['long.md'], { chunkSize: '50' })
    expect(chunks).toBeGreaterThan(300)
    const { rows } = await server.storage.ledger.audit({ tenant: 'local', limit: 100, tool: 'ingest_docs' })
    expect(rows.length).toBe(Math.ceil(chunks / 100))
    expect(rows.every(({ source, outcome }) => source === 'cli' && outcome === 'success')).toBe(true)
    for (const word of ['Word0', 'Word329']) expect((await yard.searchJson(word)).results).toHaveLength(1)
  })

  test('says what came of it as one document', async () => {
    const yard = await documentsFolder({ 'kettle.md': KETTLE })
    expect(await yard.ingestJson(['kettle.md', 'nope.md'])).toEqual({
      collection: 'docs',
      documents: 1,
      chunks: 1,
      unchanged: 0,
      skipped: [],
      failed: [{ source: 'nope.md', problem: '"nope.md": there is no such file or folder' }],
      not_tried: 0,
      warnings: [],
      seconds: expect.any(Number),
    })
  })

  test('takes out what was there of a file that has become empty', async () => {
    const yard = await documentsFolder({ 'kettle.md': KETTLE, 'toaster.md': TOASTER })
    await yard.ingest(['.'])
    await yard.write({ 'kettle.md': '' })
    expect((await yard.ingest(['.'])).err).toContain('Document "kettle.md" is empty')
    expect((await yard.searchJson('vinegar')).results).toEqual([])
  })

  test('gives up where nothing can be taken in, and says why', async () => {
    const files = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${index}.md`, KETTLE]))
    const yard = await documentsFolder(files)
    const { code, out, err } = await yard.ingest(['.'], { metadata: [`key=${'x'.repeat(5_000)}`] })
    expect([code, out]).toEqual([1, expect.stringMatching(/: 0 documents .* not tried/)])
    expect(err).toContain(`"0.md" was not taken in: 'key' of the metadata has 5000 characters`)
    expect(err).toContain('the others were not tried')
  })

  test.each([
    [{ metadata: ['nonsense'] }, "--metadata takes key=value, not 'nonsense'."],
    [{ metadata: ['a=1', 'a=2'] }, "--metadata is given twice for 'a'."],
    [{ chunkSize: '10' }, "--chunk-size takes a number of characters from 50 to 32000, not '10'."],
    [{ chunkSize: 'x' }, "--chunk-size takes a number of characters from 50 to 32000, not 'x'."],
  ])('refuses %j', async (options, sentence) => {
    const yard = await documentsFolder({ 'kettle.md': KETTLE })
    expect(await yard.ingest(['kettle.md'], options)).toMatchObject({ code: 2, err: sentence })
    expect(existsSync(yard.data)).toBe(false)
  })

  test('Ctrl-C ends it with 130, and the next run goes on', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [
        `${index}.md`,
        `# Page ${index}\n\n${`Text ${index}. `.repeat(2_000)}`,
      ]),
    )
    const yard = await documentsFolder(files)
    const words = ['ingest', '.', '--config', yard.file, '--json', '--verbose']
    const child = spawn(process.execPath, [BIN, ...words], {
      cwd: yard.folder,
      env: { ...ENV, TOOLYARD_DATA: yard.data },
    })
    let [out, err] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text) => {
      out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      if (err === '') child.kill('SIGINT')
      err += text
    })
    const code = await new Promise((resolve) => child.on('close', resolve))
    const first = JSON.parse(out)
    expect([code, first.interrupted, first.failed]).toEqual([130, true, []])
    expect(first.documents).toBeGreaterThan(0)
    expect(first.not_tried).toBe(300 - first.documents)
    const second = await yard.ingestJson(['.'])
    // What was on its way into the store when it was broken off may have got there.
    expect(second.unchanged).toBeGreaterThanOrEqual(first.documents)
    expect(second.unchanged + second.documents).toBe(300)
    expect(second.failed).toEqual([])
  }, 60_000)
})

test('vectors are made of what was put in without them, as soon as something makes them', {
  timeout: 60_000,
}, async () => {
  const yard = await documentsFolder({ 'kettle.md': KETTLE })
  await yard.ingest(['.'], { chunkSize: '500' })
  const mock = new LLMock({ host: '127.0.0.1', port: 0 })
  mock.onEmbedding(/.*/, { embedding: [3, 0, 4] })
  await mock.start()
  onTestFinished(() => mock.stop())
  const providers = { stand_in: { type: 'openai', base_url: `${mock.url}/v1/` } } as const
  await yard.configure({ tools: { enabled: true }, providers, knowledge: { embedder: 'stand_in:model' } })
  expect(await yard.ingestJson(['.'], { chunkSize: '500' })).toMatchObject({ documents: 0, unchanged: 1 })
  expect(await yard.searchJson('vinegar', { by: 'vector' })).toMatchObject({
    by: 'vector',
    results: [{ source: 'kettle.md' }],
  })
})

test('a folder that is gone in the meantime loses nothing that is in', async () => {
  const yard = await documentsFolder({ 'manuals/kettle.md': KETTLE })
  await yard.ingest(['manuals'])
  await rm(join(yard.folder, 'manuals'), { recursive: true })
  expect((await yard.ingest(['manuals'])).code).toBe(1)
  expect((await yard.searchJson('vinegar')).results).toHaveLength(1)
  expect(await readdir(yard.folder)).toEqual([])
})
