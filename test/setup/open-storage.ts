import type { Log } from '../../src/core/log.ts'
import type { Storage } from '../../src/core/storage/storage.ts'
import type { StorageOptions } from '../../src/storage/sql/engine.ts'
import { hostStorage } from '../../src/storage/worker/host-storage.ts'
import { type Part, STORAGE_PARTS } from '../../src/storage/worker/messages.ts'
import { putTemplate } from './sqlite-template.ts'

/**
 * Stands in for `src/storage/open-storage.ts` in tests that are not about the storage thread: the store opens in the
 * thread of the test, which saves starting a thread and loading its modules every time.
 */
export async function openStorage(options: StorageOptions, { log }: { readonly log: Log }): Promise<Storage> {
  if (options.url === undefined) putTemplate(options.folder)
  const storage = await hostStorage(options, { log })
  // Plain objects of functions, as the proxy in front of the thread has them.
  const parts = (Object.keys(STORAGE_PARTS) as Part[])
    .filter((name) => storage[name] !== undefined)
    .map((name) => {
      const part = storage[name] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
      const methods = Object.keys(STORAGE_PARTS[name]).map((key) => [key, part[key]?.bind(part)])
      return [name, Object.fromEntries(methods)]
    })
  return { ...storage, ...Object.fromEntries(parts) }
}
