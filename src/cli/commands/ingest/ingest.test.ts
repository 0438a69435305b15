import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { LLMock } from '@copilotkit/aimock'
import { describe, expect, onTestFinished, test } from 'vitest'
import { documentsFolder } from '../../fixtures/documents-folder.ts'
import { BIN, ENV } from '../../fixtures/toolyard.ts'

const KETTLE = '# The kettle\n\n## Descaling\n\nPour vinegar into the kettle and wait for an hour.\n'
const TOASTER = '# The toaster\n\n## Crumbs\n\nEmpty the crumb tray of the toaster every week.\n'

describe('toolyard ingest', () => {
  test('adds a folder to a collection with source and heading', async () => {
    const setup = await documentsFolder({ 'manuals/kettle.md': KETTLE, 'manuals/toaster.md': TOASTER })
    const { code, out, err } = await setup.ingest(['manuals'])
    expect([code, out.replace(/\d+\.\d s/, '… s'), err]).toEqual([
      0,
      'docs: 2 documents (2 chunks), 0 unchanged, 0 skipped, 0 failed, … s\n',
      expect.not.stringContaining('failed'),
    ])
    const { results } = await setup.searchJson('vinegar')
    expect(results).toMatchObject([
      { source: 'manuals/kettle.md', position: 0, metadata: { title: 'The kettle', heading: expect.any(String) } },
    ])
  })

  test('skips unchanged files, and replaces changed ones', async () => {
    const setup = await documentsFolder({ 'kettle.md': KETTLE, 'toaster.md': TOASTER })
    await setup.ingest(['.'])
    await utimes(join(setup.folder, 'kettle.md'), new Date(), new Date())
    expect(await setup.ingestJson(['.'])).toMatchObject({ documents: 0, chunks: 0, unchanged: 2 })
    await setup.write({ 'kettle.md': KETTLE.replace('vinegar', 'lemon juice') })
    expect(await setup.ingestJson(['.'])).toMatchObject({ documents: 1, chunks: 1, unchanged: 1 })
    expect((await setup.searchJson('vinegar')).results).toEqual([])
    expect((await setup.searchJson('lemon')).results).toHaveLength(1)
  })

  test('adds a file again if the metadata or the chunk size changes', async () => {
    const setup = await documentsFolder({ 'kettle.md': KETTLE })
    await setup.ingest(['.'])
    const metadata = ['product=kettle', 'note=a=b']
    expect(await setup.ingestJson(['.'], { metadata })).toMatchObject({ documents: 1, unchanged: 0 })
    expect(await setup.ingestJson(['.'], { metadata, chunkSize: '50' })).toMatchObject({ documents: 1, unchanged: 0 })
    const { results } = await setup.searchJson('vinegar', { filter: ['product=kettle'] })
    expect(results[0].metadata).toMatchObject({ product: 'kettle', note: 'a=b' })
    expect((await setup.searchJson('vinegar', { filter: ['product=toaster'] })).results).toEqual([])
  })

  test('sends a long document in several calls, all of which are recorded, and finds all of it', async () => {
    const sections = Array.from(
      { length: 330 },
      (_, index) => `## Section ${index}\n\nWord${index} stands here alone.\n`,
    )
    const setup = await documentsFolder({ 'long.md': `# Long\n\n${sections.join('\n')}` })
    const server = await setup.serve()
    const { chunks } = await setup.ingestJson(['long.md'], { chunkSize: '50' })
    expect(chunks).toBeGreaterThan(300)
    const { rows } = await server.storage.ledger.audit({ tenant: 'local', limit: 100, tool: 'ingest_docs' })
    expect(rows.length).toBe(Math.ceil(chunks / 100))
    expect(rows.every(({ source, outcome }) => source === 'cli' && outcome === 'success')).toBe(true)
    for (const word of ['Word0', 'Word329']) expect((await setup.searchJson(word)).results).toHaveLength(1)
  })

  test('prints the report as one JSON document', async () => {
    const setup = await documentsFolder({ 'kettle.md': KETTLE })
    expect(await setup.ingestJson(['kettle.md', 'nope.md'])).toEqual({
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

  test('removes the content of a file that became empty', async () => {
    const setup = await documentsFolder({ 'kettle.md': KETTLE, 'toaster.md': TOASTER })
    await setup.ingest(['.'])
    await setup.write({ 'kettle.md': '' })
    expect((await setup.ingest(['.'])).err).toContain('Document "kettle.md" is empty')
    expect((await setup.searchJson('vinegar')).results).toEqual([])
  })

  test('stops after several rejections, and says why', async () => {
    const files = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${index}.md`, KETTLE]))
    const setup = await documentsFolder(files)
    const { code, out, err } = await setup.ingest(['.'], { metadata: [`key=${'x'.repeat(5_000)}`] })
    expect([code, out]).toEqual([1, expect.stringMatching(/: 0 documents .* not tried/)])
    expect(err).toContain(`"0.md" was not stored: 'key' of the metadata has 5000 characters`)
    expect(err).toContain('the others were not tried')
  })

  test.each([
    [{ metadata: ['nonsense'] }, "--metadata takes key=value, not 'nonsense'."],
    [{ metadata: ['a=1', 'a=2'] }, "--metadata is given twice for 'a'."],
    [{ chunkSize: '10' }, "--chunk-size takes a whole number from 50 to 32000, not '10'."],
    [{ chunkSize: 'x' }, "--chunk-size takes a whole number from 50 to 32000, not 'x'."],
  ])('refuses %j', async (options, sentence) => {
    const setup = await documentsFolder({ 'kettle.md': KETTLE })
    expect(await setup.ingest(['kettle.md'], options)).toMatchObject({ code: 2, err: sentence })
    expect(existsSync(setup.data)).toBe(false)
  })

  test('Ctrl-C exits with 130, and the next run continues', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [
        `${index}.md`,
        `# Page ${index}\n\n${`Text ${index}. `.repeat(2_000)}`,
      ]),
    )
    const setup = await documentsFolder(files)
    const words = ['ingest', '.', '--config', setup.file, '--json', '--verbose']
    const child = spawn(process.execPath, [BIN, ...words], {
      cwd: setup.folder,
      env: { ...ENV, TOOLYARD_DATA: setup.data },
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
    const second = await setup.ingestJson(['.'])
    // What was on its way into the store when it was broken off may have got there.
    expect(second.unchanged).toBeGreaterThanOrEqual(first.documents)
    expect(second.unchanged + second.documents).toBe(300)
    expect(second.failed).toEqual([])
  })
})

test('embeds stored chunks once an embedding model is available', async () => {
  const setup = await documentsFolder({ 'kettle.md': KETTLE })
  await setup.ingest(['.'], { chunkSize: '500' })
  const mock = new LLMock({ host: '127.0.0.1', port: 0 })
  mock.onEmbedding(/.*/, { embedding: [3, 0, 4] })
  await mock.start()
  onTestFinished(() => mock.stop())
  const providers = { stand_in: { type: 'openai', base_url: `${mock.url}/v1/` } } as const
  await setup.configure({ tools: { enabled: true }, providers, knowledge: { embedder: 'stand_in:model' } })
  expect(await setup.ingestJson(['.'], { chunkSize: '500' })).toMatchObject({ documents: 0, unchanged: 1 })
  expect(await setup.searchJson('vinegar', { by: 'vector' })).toMatchObject({
    by: 'vector',
    results: [{ source: 'kettle.md' }],
  })
})

test('keeps stored documents if their folder disappears', async () => {
  const setup = await documentsFolder({ 'manuals/kettle.md': KETTLE })
  await setup.ingest(['manuals'])
  await rm(join(setup.folder, 'manuals'), { recursive: true })
  expect((await setup.ingest(['manuals'])).code).toBe(1)
  expect((await setup.searchJson('vinegar')).results).toHaveLength(1)
  expect(await readdir(setup.folder)).toEqual([])
})
