import type { Log } from '../../core/log.ts'
import type { KnowledgeStore } from '../../core/storage/knowledge-store.ts'
import type { StorageOptions } from '../engine.ts'
import { StorageThread } from './storage-thread.ts'

type TextQuery = Parameters<KnowledgeStore['byText']>[0]
type VectorQuery = Parameters<KnowledgeStore['byVector']>[0]

/**
 * A second thread for searches in the embedded store, so that none holds up a write: in a large collection one takes as
 * long as a hundred writes. It is started with the first search.
 */
export class SearchThread implements Pick<KnowledgeStore, 'byText' | 'byVector'> {
  readonly #thread: StorageThread
  #started: Promise<unknown> | undefined
  #closed = false

  constructor(options: StorageOptions, log: Log) {
    this.#thread = new StorageThread(options, log, 'search')
  }

  byText(query: TextQuery): ReturnType<KnowledgeStore['byText']> {
    return this.#call('byText', query) as ReturnType<KnowledgeStore['byText']>
  }

  /** The vector goes in memory of its own: what it is a piece of would be copied whole. */
  byVector(query: VectorQuery): ReturnType<KnowledgeStore['byVector']> {
    const { vector } = query
    const own = vector instanceof Float32Array ? { ...query, vector: vector.slice() } : query
    return this.#call('byVector', own) as ReturnType<KnowledgeStore['byVector']>
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#started?.catch(() => {})
    await this.#thread.close()
  }

  async #call(method: string, query: TextQuery | VectorQuery): Promise<unknown> {
    // Where that fails, the next search tries again. After the end the thread says that it was the end.
    if (!this.#closed) this.#started ??= this.#thread.start().catch((error: unknown) => this.#failed(error))
    await this.#started
    return this.#thread.call('knowledge', method, [query])
  }

  #failed(error: unknown): never {
    this.#started = undefined
    throw error
  }
}
