import type { Log } from '../../src/core/log.ts'
import type { Storage, StorageOptions } from '../../src/storage/sql/engine.ts'
import { hostStorage } from '../../src/storage/worker/host-storage.ts'
import { partsOf } from '../../src/storage/worker/messages.ts'
import { putTemplate } from './sqlite-template.ts'

/**
 * Stands in for `src/storage/open-storage.ts` in tests that are not about the storage thread: the store opens in the
 * thread of the test, which saves starting a thread and loading its modules every time.
 */
export async function openStorage(options: StorageOptions, { log }: { readonly log: Log }): Promise<Storage> {
  if (options.url === undefined) putTemplate(options.folder)
  const storage = await hostStorage(options, { log })
  return { ...storage, ...partsOf(storage) }
}
