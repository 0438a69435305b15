import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type Collection,
  DOCS,
  type DocumentPart,
  type KnowledgeStore,
  OWN_TENANT,
} from '../../core/storage/knowledge-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { splitDocument } from '../documents/split-document.ts'
import { textDocument } from '../documents/text-document.ts'
import type { Embedder } from '../embedding/embedder.ts'

/** Small enough for every embedding model, headings included. */
const CHUNK_SIZE = 500

interface Page {
  readonly source: string
  readonly text: string
}

/** Toolyard's docs as a collection. All pages are parts of one document, so that they are replaced together. */
export class OwnDocs {
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
    const files = (await readdir(folder, { recursive: true, withFileTypes: true }))
      .filter((file) => file.isFile() && file.name.endsWith('.md'))
      .map((file) => join(file.parentPath, file.name))
      .sort()
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

/** Omits the path, which is private. */
function unreadable(error: unknown): ToolExecutionError {
  const { code = 'unknown reason' } = Object(error) as { code?: string }
  const message = `The documents cannot be read (${code}): check that their folder exists`
  return new ToolExecutionError('EXECUTION_ERROR', message, {}, { cause: error })
}
