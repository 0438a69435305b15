import type { Storage } from '../core/storage/storage.ts'
import type { GlobalOptions } from './global-options.ts'
import { hasStore } from './has-store.ts'
import { openCommandStore } from './open-command-store.ts'
import { openLog } from './start-manager.ts'

/** Opens the store of the installation, which is made where there is none, for one piece of work. */
export async function withStore<T>(options: GlobalOptions, work: (storage: Storage) => Promise<T>): Promise<T> {
  const storage = await openCommandStore(openLog(options))
  try {
    return await work(storage)
  } finally {
    await storage.close()
  }
}

/** The same for who only reads: where there is no store none is made, and what it would hold is `nothing`. */
export function readStore<T>(options: GlobalOptions, work: (storage: Storage) => Promise<T>, nothing: T): Promise<T> {
  return hasStore() ? withStore(options, work) : Promise.resolve(nothing)
}
