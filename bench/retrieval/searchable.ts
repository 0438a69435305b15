import { hash, randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../src/core/clock.ts'
import { silentLog } from '../../src/core/log.ts'
import { Collections } from '../../src/knowledge/collections/collections.ts'
import { documentCalls } from '../../src/knowledge/collections/document-calls.ts'
import type { SearchResult, SearchWay } from '../../src/knowledge/collections/search.ts'
import { splitDocument } from '../../src/knowledge/documents/split-document.ts'
import { textDocument } from '../../src/knowledge/documents/text-document.ts'
import type { Embedder } from '../../src/knowledge/embedding/embedder.ts'
import { openEmbedder } from '../../src/knowledge/embedding/open-embedder.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { Corpus } from './corpus.ts'

/** Kept from run to run: the vectors take minutes. */
const FOLDER = join(import.meta.dirname, '../.toolyard/retrieval')
const QUERIES = join(FOLDER, 'query-vectors.json')
const TENANT = 'bench'
/** Passages that are asked for, so that ten documents are among them. */
const PASSAGES = 50

/** Corpora in collections, as the product keeps and searches them. */
export interface Searchable {
  put(corpus: Corpus, progress: (done: number, of: number) => void): Promise<void>
  search(corpus: Corpus, query: string, by: SearchWay, most?: number): Promise<readonly SearchResult[]>
  close(): Promise<void>
}

export async function openSearchable(): Promise<Searchable> {
  await mkdir(FOLDER, { recursive: true })
  const storage = await openStorage({ folder: FOLDER, instance: randomUUID(), keepDays: 7 }, { log: silentLog })
  const embedder = remembering(
    await openEmbedder('local:minilm-l6-v2', { dataFolder: join(FOLDER, '../../../.toolyard') }),
  )
  const collections = new Collections({
    store: async () => storage.knowledge,
    embedder: async () => embedder,
    log: silentLog,
    clock: systemClock,
  })
  return {
    async put(corpus, progress) {
      for (const [done, { id, text }] of corpus.documents.entries()) {
        progress(done, corpus.documents.length)
        const document = textDocument(text, id)
        const calls = documentCalls(
          document.text,
          splitDocument(document, { chunkSize: await collections.chunkSize() }),
        )
        const known = { tenant: TENANT, collection: corpus.id, document_id: id, source: id, version: versionOf(text) }
        for (const [index, call] of calls.entries()) {
          await collections.ingest({ ...known, ...call, part: index + 1, parts: calls.length })
        }
      }
    },
    async search(corpus, query, by, most = PASSAGES) {
      const answer = await collections.search({ tenant: TENANT, collection: corpus.id, query, most, by })
      if (answer.by !== by) throw new Error(`It was searched by ${answer.by} and not by ${by}: ${answer.note}`)
      return answer.results
    },
    async close() {
      await embedder.close()
      await storage.close()
    },
  }
}

const versionOf = (text: string): string => hash('sha256', text, 'hex').slice(0, 32)

/** The product does not keep the vectors of questions; here the same ones are asked every time. */
function remembering(embedder: Embedder): Embedder {
  const known = new Map<string, number[]>(existsSync(QUERIES) ? JSON.parse(readFileSync(QUERIES, 'utf8')) : [])
  const before = known.size
  return {
    id: embedder.id,
    dimensions: embedder.dimensions,
    batch: embedder.batch,
    ...(embedder.maxCharacters !== undefined && { maxCharacters: embedder.maxCharacters }),
    async embed(texts, purpose, signal) {
      if (purpose === 'document') return embedder.embed(texts, purpose, signal)
      const missing = texts.filter((text) => !known.has(text))
      const vectors = missing.length === 0 ? [] : await embedder.embed(missing, purpose, signal)
      for (const [index, text] of missing.entries()) known.set(text, [...(vectors[index] as Float32Array)])
      return texts.map((text) => Float32Array.from(known.get(text) as number[]))
    },
    async close() {
      if (known.size > before) writeFileSync(QUERIES, JSON.stringify([...known]))
      await embedder.close()
    },
  }
}
