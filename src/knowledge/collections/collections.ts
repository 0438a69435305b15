import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import { quoted } from '../../core/schema/problem-words.ts'
import {
  type Collection,
  DOCS,
  type DocumentPart,
  type KnowledgeStore,
  OWN_TENANT,
} from '../../core/storage/knowledge-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { badParameter } from '../../kinds/builtin/read-parameter.ts'
import { DEFAULT_CHUNK_SIZE, splitDocument } from '../documents/split-document.ts'
import { textDocument } from '../documents/text-document.ts'
import { type Embedder, type EmbeddingProgress, embedDocuments } from '../embedding/embedder.ts'
import { modelFailure } from '../model-failure.ts'
import { type Ingested, type IngestPart, joinVersion, preparePart } from './ingest-part.ts'
import {
  questionPieces,
  rankHits,
  type SearchAnswer,
  type SearchQuestion,
  type WeighedHit,
  weighText,
  weighVectors,
} from './search.ts'

export interface CollectionsOptions {
  /** Opens the store on first use; `write` if the caller will store something. */
  readonly store: (use: 'read' | 'write') => Promise<KnowledgeStore>
  /** Opens the embedder on first use; undefined makes collections full text only. */
  readonly embedder: () => Promise<Embedder | undefined>
  readonly log: Log
  readonly clock: Clock
  readonly docs?: URL
}

interface Called {
  readonly signal?: AbortSignal | undefined
}

type Place = Pick<IngestPart, 'tenant' | 'collection'>

interface IngestCalled extends Called {
  readonly onProgress?: EmbeddingProgress | undefined
  /** The time for embedding. Chunks that then have no vector are stored without, and embedded in the background. */
  readonly budgetMs?: number | undefined
}

/** Characters reserved for headings within the embedder's limit. */
const HEADING_ROOM = 100
/** Searches deeper than requested: a good hit of one method may rank low in the other. */
const DEPTH = 4
const MIN_DEPTH = 100
const MAX_DEPTH = 1_000
const WAITING_AT_ONCE = 16
/** If more chunks have no vector, the few that have one would rank above better hits. */
const MAX_WAITING = 0.1

/** The documents of all tenants, split into chunks, each with a vector if an embedder is configured. */
export class Collections {
  readonly #options: CollectionsOptions
  readonly #own: OwnDocs
  /** Collections whose chunks are being embedded in the background. */
  readonly #embedding = new Map<string, Promise<void>>()
  readonly #ended = new AbortController()

  constructor(options: CollectionsOptions) {
    this.#options = options
    this.#own = new OwnDocs(options.docs)
  }

  /** Splits, embeds and stores one part of a document, or all of it. Searches find it once the last part is stored. */
  async ingest(given: IngestPart, { signal, onProgress, budgetMs }: IngestCalled = {}): Promise<Ingested> {
    signal?.throwIfAborted()
    if (given.tenant === OWN_TENANT) throw badParameter(`tenant ${quoted(OWN_TENANT)} is reserved`)
    const embedder = await this.#embedder()
    const part = preparePart(given, chunkSizeFor(embedder))
    const { tenant, collection: name, document_id } = part
    const store = await this.#options.store('write')
    if (part.chunks.length === 0 && part.parts === 1) {
      await store.remove(tenant, name, document_id)
      return { document_id, chunks: 0, complete: true }
    }
    const collection = await store.open(
      tenant,
      name,
      embedder ? { id: embedder.id, dimensions: embedder.dimensions } : null,
    )
    const own = sameEmbedder(collection, embedder)
    const version = part.version ?? (await joinVersion(store, part))
    const there = await store.document(tenant, name, document_id)
    if (there?.version === version) {
      const left = own && collection.without_vector > 0 ? await this.#embedMore(store, part, { signal, budgetMs }) : 0
      return { document_id, chunks: there.chunks, complete: true, ...(left > 0 && { without_vector: left }) }
    }
    signal?.throwIfAborted()
    const vectors = own && (await this.#vectors(store, own, tenant, part.chunks, { signal, onProgress, budgetMs }))
    const chunks = part.chunks.map((chunk, index) => {
      const vector = vectors?.[index]
      return vector === undefined ? chunk : { ...chunk, vector }
    })
    signal?.throwIfAborted()
    const put = await store.put({ ...part, version, chunks })
    const waiting = vectors?.filter((vector) => vector === undefined).length ?? 0
    if (own && put.complete && (waiting > 0 || collection.without_vector > 0)) this.#embedLater(tenant, name)
    return { document_id, ...put, ...(waiting > 0 && { without_vector: waiting }) }
  }

  /** Ends the work in the background; what it has not embedded waits for the next ingest. */
  async close(): Promise<void> {
    this.#ended.abort()
    await Promise.all(this.#embedding.values())
  }

  /** Embeds waiting chunks as long as the budget lasts, and the rest in the background. Returns how many wait then. */
  async #embedMore(store: KnowledgeStore, { tenant, collection }: Place, { signal, budgetMs }: IngestCalled) {
    const late = new AbortController()
    const cancelTimer = this.#options.clock.after(budgetMs ?? 0, () => late.abort())
    try {
      const stop = signal ? AbortSignal.any([signal, late.signal]) : late.signal
      await this.embedWaiting(tenant, collection, { signal: stop })
    } catch (error) {
      if (!late.signal.aborted || signal?.aborted) throw error
    } finally {
      cancelTimer()
    }
    const left = (await store.collection(tenant, collection))?.without_vector ?? 0
    if (left > 0) this.#embedLater(tenant, collection)
    return left
  }

  #embedLater(tenant: string, name: string): void {
    const key = JSON.stringify([tenant, name])
    const { signal } = this.#ended
    const embed = async (before?: Promise<void>): Promise<void> => {
      await before
      try {
        if (!signal.aborted) await this.embedWaiting(tenant, name, { signal })
      } catch (err) {
        if (!signal.aborted) writeLog(this.#options.log, 'warn', { err, collection: name }, 'Could not embed chunks')
      }
      if (this.#embedding.get(key) === work) this.#embedding.delete(key)
    }
    const work = embed(this.#embedding.get(key))
    this.#embedding.set(key, work)
  }

  /** The version of a document that searches find now, or undefined. */
  async versionOf(tenant: string, collection: string, document_id: string): Promise<string | undefined> {
    const store = await this.#options.store('write')
    return (await store.document(tenant, collection, document_id))?.version
  }

  async chunkSize(): Promise<number> {
    return chunkSizeFor(await this.#embedder())
  }

  /** Finds the best passages. Throws if the collection doesn't exist. */
  async search(question: SearchQuestion, { signal }: Called = {}): Promise<SearchAnswer> {
    const { query, most, filter, by = 'hybrid' } = question
    const store = await this.#options.store('read')
    const collection = await this.#find(store, question)
    const deep = {
      tenant: collection.tenant,
      collection: collection.name,
      most: Math.min(MAX_DEPTH, Math.max(MIN_DEPTH, most * DEPTH)),
      ...(filter && { filter }),
    }
    signal?.throwIfAborted()
    const pieces = questionPieces(query)
    const asked = by === 'text' ? {} : await this.#questionVectors(collection, pieces, question.tenant, signal)
    signal?.throwIfAborted()
    const { vectors, note } = asked
    const way = vectors === undefined ? 'text' : by
    const byText = async (text: string) =>
      weighText(text, await store.byText({ ...deep, text }), collection.chunks, signal)
    const byVector = async (vector: Float32Array) => weighVectors(await store.byVector({ ...deep, vector }))
    const [texts, meanings] = await Promise.all([
      oneByOne(way === 'vector' ? [] : pieces, byText, signal),
      oneByOne(vectors ?? [], byVector, signal),
    ])
    const results = rankHits({ byText: texts, byVector: meanings }, most)
    return { results, by: way, ...(note !== undefined && { note }) }
  }

  /** Lists the tenant's collections; Toolyard's own docs are included unless the tenant has a collection `docs`. */
  async list(tenant: string): Promise<Collection[]> {
    const store = await this.#options.store('read')
    const theirs = await store.collections(tenant)
    if (theirs.some(({ name, documents }) => name === DOCS && documents > 0)) return theirs
    const own = await this.#own.collection(store)
    return [own, ...theirs.filter(({ name }) => name !== DOCS)].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Stores Toolyard's own documentation unless this version is stored already. */
  async putOwnDocs(): Promise<void> {
    await this.#own.collection(await this.#options.store('read'))
  }

  async embedOwnDocs(options: Called & { readonly pause?: (ms: number) => Promise<void> } = {}): Promise<number> {
    const [embedder, store] = [await this.#embedder(), await this.#options.store('read')]
    if (embedder === undefined) return 0
    await this.#own.open(store, embedder)
    return this.embedWaiting(OWN_TENANT, DOCS, options)
  }

  /** Embeds the chunks without a vector in small batches, and returns their number. */
  async embedWaiting(
    tenant: string,
    name: string,
    { signal, pause = async () => {} }: Called & { readonly pause?: (ms: number) => Promise<void> } = {},
  ): Promise<number> {
    const { clock } = this.#options
    const [embedder, store] = [await this.#embedder(), await this.#options.store('read')]
    const found = await store.collection(tenant, name)
    if (found === undefined || embedder === undefined) return 0
    const { id, dimensions } = embedder
    const collection = found.embedder === null ? await store.open(tenant, name, { id, dimensions }) : found
    const own = sameEmbedder(collection, embedder)
    if (own === undefined) return 0
    let done = 0
    let last = ''
    for (;;) {
      const waiting = await store.withoutVector(tenant, name, WAITING_AT_ONCE)
      // The store accepts no vectors.
      if (waiting.length === 0 || waiting[0]?.chunk_id === last) return done
      last = waiting[0]?.chunk_id ?? ''
      signal?.throwIfAborted()
      const began = clock.now()
      const vectors = await this.#vectors(store, own, tenant, waiting, { signal })
      const found = waiting.map(({ chunk_id }, index) => ({ chunk_id, vector: vectors[index] as Float32Array }))
      await store.setVectors(tenant, name, found)
      done += waiting.length
      await pause(clock.now() - began)
    }
  }

  /** Removes parts of versions that were never completed. */
  async sweep(beforeMs: number): Promise<number> {
    const store = await this.#options.store('read')
    // Older versions stored notes about incomplete documents of all tenants there.
    await store.drop(OWN_TENANT, 'begun')
    return store.sweep(beforeMs)
  }

  async #find(store: KnowledgeStore, { tenant, collection: name }: SearchQuestion): Promise<Collection> {
    const found = await store.collection(tenant, name)
    if (found !== undefined && (name !== DOCS || found.documents > 0)) return found
    if (name === DOCS) return this.#own.collection(store)
    const names = (await this.list(tenant)).map((one) => `"${one.name}"`)
    throw badParameter(
      `collection ${quoted(name)} does not exist; use ${names.length > 1 ? 'one of ' : ''}${names.join(', ')}`,
    )
  }

  /** Embeds a query, or says why that isn't possible. */
  async #questionVectors(
    { name, embedder: made, dimensions, without_vector: waiting, chunks }: Collection,
    pieces: readonly string[],
    tenant: string,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly vectors?: readonly Float32Array[]; readonly note?: string }> {
    if (made === null) return { note: `Collection ${quoted(name)} has no vectors: searched by words only.` }
    if (chunks === 0) return {}
    if (waiting > chunks * MAX_WAITING) {
      return { note: `${waiting} of ${chunks} passages have no vector yet: searched by words only.` }
    }
    try {
      const embedder = await this.#embedder()
      if (embedder?.id !== made || embedder.dimensions !== dimensions) {
        const now = embedder === undefined ? 'no embedding model is configured' : `${quoted(embedder.id)} is configured`
        return {
          note: `Collection ${quoted(name)} has vectors of ${quoted(made)}, but ${now}: searched by words only.`,
        }
      }
      const vectors = await embedder.embed(pieces, 'query', signal, tenant)
      const some =
        waiting > 0
          ? { note: `${waiting} of ${chunks} passages have no vector yet: searched those by words only.` }
          : {}
      return { vectors, ...some }
    } catch (err) {
      signal?.throwIfAborted()
      writeLog(this.#options.log, 'warn', { err, embedder: made }, 'Could not embed a query')
      return { note: `${quoted(made)} could not embed the query: searched by words only.` }
    }
  }

  async #vectors(
    store: KnowledgeStore,
    embedder: Embedder,
    tenant: string,
    chunks: readonly { readonly heading: string; readonly text: string }[],
    { signal, onProgress, budgetMs }: IngestCalled,
  ): Promise<(Float32Array | undefined)[]> {
    const late = new AbortController()
    const cancelTimer = budgetMs === undefined ? () => {} : this.#options.clock.after(budgetMs, () => late.abort())
    try {
      const texts = chunks.map(embeddedText)
      return await embedDocuments(embedder, store, tenant, texts, signal, onProgress, late.signal)
    } catch (error) {
      signal?.throwIfAborted()
      throw modelFailure(error, 'ingest_docs')
    } finally {
      cancelTimer()
    }
  }

  async #embedder(): Promise<Embedder | undefined> {
    try {
      return await this.#options.embedder()
    } catch (error) {
      throw modelFailure(error, 'ingest_docs')
    }
  }
}

/** Sequential: many searches at once would block this thread. */
async function oneByOne<Each>(
  all: readonly Each[],
  search: (one: Each) => Promise<readonly WeighedHit[]>,
  signal: AbortSignal | undefined,
): Promise<(readonly WeighedHit[])[]> {
  const found: (readonly WeighedHit[])[] = []
  for (const one of all) {
    signal?.throwIfAborted()
    found.push(await search(one))
  }
  return found
}

const chunkSizeFor = (embedder: Embedder | undefined): number =>
  Math.min(DEFAULT_CHUNK_SIZE, (embedder?.maxCharacters ?? Number.POSITIVE_INFINITY) - HEADING_ROOM)

/** The embedder of the collection; undefined if the collection has no vectors, or no embedder is configured now. */
function sameEmbedder(
  { name, embedder: made, dimensions }: Collection,
  embedder: Embedder | undefined,
): Embedder | undefined {
  if (made === null || embedder === undefined) return undefined
  if (embedder.id === made && embedder.dimensions === dimensions) return embedder
  throw new ToolExecutionError(
    'INVALID_PARAMETERS',
    `Collection ${quoted(name)} has vectors of ${quoted(made)} (${dimensions} dimensions), which cannot be compared with those ` +
      `of ${quoted(embedder.id)} (${embedder.dimensions}): ingest into another collection, or set knowledge.embedder to ${quoted(made)}`,
  )
}

/** The heading often names the topic that the text doesn't. */
const embeddedText = ({ heading, text }: { readonly heading: string; readonly text: string }): string =>
  heading === '' ? text : `${heading}\n${text}`

/** Small enough for every embedding model, headings included. */
const CHUNK_SIZE = 500

interface Page {
  readonly source: string
  readonly text: string
}

/** Toolyard's docs as a collection. All pages are parts of one document, so that they are replaced together. */
class OwnDocs {
  readonly #folder: string
  /** The number of pages. */
  #put: Promise<number> | undefined

  constructor(folder: URL = new URL('../../../docs/', import.meta.url)) {
    this.#folder = fileURLToPath(folder)
  }

  /** Stores the pages unless they are stored already. After a failure the next call tries again. */
  async collection(store: KnowledgeStore): Promise<Collection> {
    this.#put ??= this.#bring(store).catch((error: unknown) => {
      this.#put = undefined
      throw error
    })
    const documents = await this.#put
    const collection = await store.collection(OWN_TENANT, DOCS)
    if (collection !== undefined) return { ...collection, documents }
    // The collection was dropped.
    this.#put = undefined
    return this.collection(store)
  }

  /** The same with vectors of this model; vectors of another model are deleted. */
  async open(store: KnowledgeStore, { id, dimensions }: Embedder): Promise<void> {
    const { embedder } = await store.open(OWN_TENANT, DOCS, { id, dimensions })
    if (embedder !== null && embedder !== id) {
      await store.drop(OWN_TENANT, DOCS)
      await store.open(OWN_TENANT, DOCS, { id, dimensions })
      this.#put = undefined
    }
    await this.collection(store)
  }

  async #bring(store: KnowledgeStore): Promise<number> {
    const pages = await readPages(this.#folder)
    const version = hash('sha256', JSON.stringify([CHUNK_SIZE, pages]), 'hex').slice(0, 32)
    const there = await store.document(OWN_TENANT, DOCS, DOCS)
    if (there?.version === version) return pages.length
    await store.open(OWN_TENANT, DOCS, null)
    const parts = pages.map((page, part) => partOf(page, part, pages.length, version))
    await Promise.all(parts.map((part) => store.put(part)))
    return pages.length
  }
}

function partOf({ source, text }: Page, part: number, parts: number, version: string): DocumentPart {
  const document = textDocument(text, source)
  return {
    tenant: OWN_TENANT,
    collection: DOCS,
    document_id: DOCS,
    version,
    part,
    parts,
    source,
    metadata: { title: document.title },
    chunks: splitDocument(document, { chunkSize: CHUNK_SIZE }),
  }
}

async function readPages(folder: string): Promise<Page[]> {
  try {
    const files = (await filesIn(folder)).filter((file) => file.endsWith('.md')).sort()
    return await Promise.all(
      files.map(async (file) => ({
        source: relative(folder, file).split(sep).join('/'),
        text: await readFile(file, 'utf8'),
      })),
    )
  } catch (error) {
    throw unreadable(error)
  }
}

/** With `recursive`, Node.js 26 follows links, which may lead out of the folder. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const files = entries.map((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesIn(path) : entry.isFile() ? [path] : []
  })
  return (await Promise.all(files)).flat()
}

/** Omits the path, which is private. */
function unreadable(error: unknown): ToolExecutionError {
  const { code = 'unknown reason' } = Object(error) as { code?: string }
  const message = `The documents cannot be read (${code}): check that their folder exists`
  return new ToolExecutionError('EXECUTION_ERROR', message, {}, { cause: error })
}
