import { randomUUID } from 'node:crypto'
import type { Log } from '../core/log.ts'
import type { Storage } from '../core/storage/storage.ts'
import { dataFolder } from '../models/model-files/model-folder.ts'

/** How long things are kept is the server's to know: no command removes what is old. */
const KEEP_DAYS = 36_500

/** Opens the store of the installation for a command; it is made where there is none. */
export async function openCommandStore(log: Log): Promise<Storage> {
  const { openStorage } = await import('../storage/open-storage.ts')
  const { TOOLYARD_DATABASE_URL: url, TOOLYARD_AUDIT_KEY: auditKey } = process.env
  const options = { folder: dataFolder(), instance: randomUUID(), keepDays: KEEP_DAYS }
  return openStorage({ ...options, ...(url && { url }), ...(auditKey && { auditKey }) }, { log })
}
