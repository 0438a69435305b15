import { randomUUID } from 'node:crypto'
import type { Storage } from '../core/storage/storage.ts'
import { dataFolder } from '../models/model-files/model-folder.ts'
import { openStorage } from '../storage/open-storage.ts'
import type { GlobalOptions } from './global-options.ts'
import { hasStore } from './has-store.ts'
import { openLog } from './start-manager.ts'

/** How long things are kept is the server's to know: no command removes what is old. */
const KEEP_DAYS = 36_500

/** Opens the store of the installation, which is made where there is none, for one piece of work. */
export async function withStore<T>(options: GlobalOptions, work: (storage: Storage) => Promise<T>): Promise<T> {
  const { TOOLYARD_DATABASE_URL: url, TOOLYARD_AUDIT_KEY: auditKey } = process.env
  const storage = await openStorage(
    {
      folder: dataFolder(),
      instance: randomUUID(),
      keepDays: KEEP_DAYS,
      ...(url && { url }),
      ...(auditKey && { auditKey }),
    },
    { log: openLog(options) },
  )
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
