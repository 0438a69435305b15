import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { emptyFolder, folder, toolyard } from '../fixtures/toolyard.ts'

afterAll(emptyFolder)

const exec = async (tool: string, params: object, ...more: string[]) => {
  const { code, out, err } = await toolyard(['exec', tool, JSON.stringify(params), '--json', ...more])
  expect(err).toBe('')
  expect(code).toBe(0)
  return JSON.parse(out).result
}

/** A configuration that lists `ingest_docs`, and a search beside it. */
async function configured(name: string, more: object = {}): Promise<string> {
  const file = join(folder, `${name}.json`)
  const search = { type: 'object', properties: { query: { type: 'string' }, collection: { type: 'string' } } }
  const implementation = { type: 'internal', handler: 'rag_query' }
  const registry = ['ingest_docs', { name: 'find', description: 'Finds.', parameters: search, implementation }]
  await writeFile(file, JSON.stringify({ tools: { enabled: true, registry }, ...more }))
  return file
}

const FALLBACK = join(folder, '.toolyard', 'toolyard.db')

test('searching creates no store', async () => {
  const { results } = await exec('search_documents', { query: 'deadline of a call' })
  expect(results[0].source).toBe('concepts/life-of-a-call.md')
  expect(existsSync(FALLBACK)).toBe(false)
})

test('stores ingested documents with vectors of the local model', async () => {
  const file = await configured('pets')
  const content = 'Cats sleep for most of the day and hunt mice at night.'
  const { document_id } = await exec(
    'ingest_docs',
    { content, collection: 'pets', source: 'cats.md' },
    '--config',
    file,
  )
  expect(existsSync(FALLBACK)).toBe(true)
  const again = { content, collection: 'pets', source: 'cats.md' }
  expect(await exec('ingest_docs', again, '--config', file)).toEqual({ document_id, chunks: 1 })
  const { results } = await exec('search_documents', { query: 'when do felines rest?', collection: 'pets' })
  expect(results).toMatchObject([{ source: 'cats.md', text: content }])
})

test('finds documents by words without an embedder', async () => {
  const file = await configured('none', { knowledge: { embedder: 'none' } })
  await exec('ingest_docs', { content: 'A stone.', collection: 'plain' }, '--config', file)
  const { results } = await exec('find', { query: 'stones', collection: 'plain' }, '--config', file)
  expect(results).toMatchObject([{ text: 'A stone.' }])
})
