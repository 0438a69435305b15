import { randomBytes } from 'node:crypto'
import { link, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import type { SettingStore } from '../../core/storage/setting-store.ts'
import { ToolExecutionError } from '../../core/tool-result.ts'
import { StorageLedger } from '../ledger/storage-ledger.ts'
import type { Engine, Storage, StorageOptions } from '../sql/engine.ts'
import { openSqliteEngine } from '../sqlite/sqlite-engine.ts'

interface HostOptions {
  readonly log: Log
  readonly clock?: Clock
}

/** Opens a store in this thread: an engine, and the ledger over its tables. */
export async function hostStorage(
  options: StorageOptions,
  { log, clock = systemClock }: HostOptions,
): Promise<Storage> {
  const engine = await openEngine(options, { log, clock })
  let ledger: StorageLedger
  try {
    if ((await engine.settings.list('copy')).length > 0) throw incomplete()
    const key = await auditKey(options, engine.settings)
    ledger = new StorageLedger(engine.tables, { ...options, auditKey: key, clock, log })
  } catch (error) {
    await engine.close()
    throw error
  }
  let closed: Promise<void> | undefined
  const close = async () => {
    try {
      await ledger.close()
    } finally {
      await engine.close()
    }
  }
  const { tables: _, ...stores } = engine
  return {
    ...stores,
    ledger,
    close() {
      closed ??= close()
      return closed
    },
  }
}

const incomplete = (): ToolExecutionError =>
  new ToolExecutionError(
    'SERVICE_UNAVAILABLE',
    'The store is an incomplete copy: finish it with "toolyard storage copy --resume", or use another store',
  )

async function openEngine(options: StorageOptions, around: { log: Log; clock: Clock }): Promise<Engine> {
  const { url } = options
  if (url === undefined) return openSqliteEngine(options, around)
  const { openPostgresEngine } = await import('../postgres/postgres-engine.ts')
  return openPostgresEngine({ ...options, url }, around)
}

const FILE = 'audit.key'
const KEY = /^[0-9a-f]{64}$/

/** The key of the installation, created at the first start. Processes that start at once get the same key. */
export async function auditKey(
  { auditKey: given, url, folder }: StorageOptions,
  settings: SettingStore,
): Promise<string> {
  if (given !== undefined) return given
  const fresh = randomBytes(32).toString('hex')
  if (url === undefined) return (await readAuditKey(folder)) ?? (await writeAuditKey(folder, fresh))
  const kept = await settings.putFirst({ kind: 'secret', name: 'audit_key', value: fresh })
  if (typeof kept === 'string' && KEY.test(kept)) return kept
  throw new ToolExecutionError(
    'SERVICE_UNAVAILABLE',
    'The audit key in the database is damaged: restore the setting audit_key, or set TOOLYARD_AUDIT_KEY',
  )
}

/** The key in a data folder. */
export async function readAuditKey(folder: string): Promise<string | undefined> {
  let text: string
  try {
    text = await readFile(join(folder, FILE), 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw unusable(`cannot be read (${codeOf(error)})`)
  }
  if (!KEY.test(text.trim())) throw unusable('is damaged')
  return text.trim()
}

/**
 * Stores a key in a data folder that has none, and returns the stored one. Written under another name and then linked,
 * so that one process wins and none reads half a key.
 */
export async function writeAuditKey(folder: string, key: string): Promise<string> {
  const path = join(folder, FILE)
  const draft = `${path}.${key.slice(0, 16)}`
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(`${key}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await link(draft, path)
    return key
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return (await readAuditKey(folder)) ?? writeAuditKey(folder, key)
    throw unusable(`cannot be created (${codeOf(error)})`)
  } finally {
    await rm(draft, { force: true })
  }
}

const unusable = (problem: string): ToolExecutionError =>
  new ToolExecutionError(
    'SERVICE_UNAVAILABLE',
    `${FILE} in the data folder ${problem}: restore it from a backup, or set TOOLYARD_AUDIT_KEY`,
  )

const codeOf = (error: unknown): unknown => (Object(error) as { code?: unknown }).code
