import type { Log } from '../core/log.ts'
import type { CallEntry } from '../core/storage/ledger.ts'
import type { StoredRun } from '../core/storage/run-store.ts'
import type { Storage } from '../core/storage/storage.ts'
import type { StorageOptions } from './engine.ts'
import { type Part, STORAGE_PARTS } from './worker/messages.ts'
import { packCalls } from './worker/packed-calls.ts'
import { SearchThread } from './worker/search-thread.ts'
import { StorageThread } from './worker/storage-thread.ts'

/** Opens the store that the options name, in a thread of its own: what it does never holds up the calling thread. */
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
  // PostgreSQL searches by itself while others write.
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
