import type { Log } from '../core/log.ts'
import type { KnowledgeStore } from '../core/storage/knowledge-store.ts'
import type { CallEntry } from '../core/storage/ledger.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import type { Storage } from '../core/storage/storage.ts'
import type { StorageOptions } from './sql/engine.ts'
import { type Part, STORAGE_PARTS } from './worker/messages.ts'
import { packCalls } from './worker/packed-calls.ts'
import { StorageThread } from './worker/storage-thread.ts'

/** Opens the store in its own thread, so that it never blocks the calling thread. */
export async function openStorage(options: StorageOptions, { log }: { readonly log: Log }): Promise<Storage> {
  const thread = new StorageThread(options, log)
  const { parts } = await thread.start()
  const part = <P extends Part>(name: P): Required<Storage>[P] => {
    const method =
      (method: string) =>
      (...args: readonly unknown[]) =>
        thread.call(name, method, args)
    const methods = Object.keys(STORAGE_PARTS[name]).map((key) => [key, method(key)])
    return Object.fromEntries(methods) as Required<Storage>[P]
  }
  // PostgreSQL searches without blocking writes.
  const search = options.url === undefined ? new SearchThread(options, log) : undefined
  return {
    ledger: {
      ...part('ledger'),
      async append(calls: readonly CallEntry[], runs: readonly StoredRun[]) {
        await thread.call('ledger', 'append', [packCalls(calls), runs])
      },
    },
    runs: part('runs'),
    keys: part('keys'),
    settings: part('settings'),
    validations: part('validations'),
    toolUse: part('toolUse'),
    once: part('once'),
    jobs: part('jobs'),
    knowledge: {
      ...part('knowledge'),
      ...(search && { byText: (query) => search.byText(query), byVector: (query) => search.byVector(query) }),
    },
    ...(parts.includes('leases') && { leases: part('leases') }),
    ...(parts.includes('cache') && { cache: part('cache') }),
    onChange: (listener) => thread.onChange(listener),
    status: () => thread.status(),
    async close() {
      await search?.close()
      await thread.close()
    },
  }
}

type TextQuery = Parameters<KnowledgeStore['byText']>[0]
type VectorQuery = Parameters<KnowledgeStore['byVector']>[0]

/**
 * A second thread for searches in the embedded store: a search in a large collection takes as long as a hundred
 * writes. It starts with the first search.
 */
class SearchThread implements Pick<KnowledgeStore, 'byText' | 'byVector'> {
  readonly #thread: StorageThread
  #started: Promise<unknown> | undefined
  #closed = false

  constructor(options: StorageOptions, log: Log) {
    this.#thread = new StorageThread(options, log, 'search')
  }

  byText(query: TextQuery): ReturnType<KnowledgeStore['byText']> {
    return this.#call('byText', query) as ReturnType<KnowledgeStore['byText']>
  }

  /** Copies the vector: if it is a part of a larger buffer, the whole buffer would be sent. */
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
    // After a failure the next search starts the thread again.
    if (!this.#closed) this.#started ??= this.#thread.start().catch((error: unknown) => this.#failed(error))
    await this.#started
    return this.#thread.call('knowledge', method, [query])
  }

  #failed(error: unknown): never {
    this.#started = undefined
    throw error
  }
}
