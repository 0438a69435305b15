import { type Clock, systemClock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import type { Storage } from '../../core/storage/storage.ts'
import type { Engine } from '../engine.ts'
import { StorageLedger } from '../ledger/storage-ledger.ts'
import { openSqliteEngine } from '../sqlite/open-sqlite-engine.ts'
import type { StorageOptions } from '../storage-options.ts'
import { auditKey } from './audit-key.ts'

export interface HostOptions {
  readonly log: Log
  readonly clock?: Clock
}

/** Opens the store that the options name in this thread: an engine, and the ledger over its tables. */
export async function hostStorage(
  options: StorageOptions,
  { log, clock = systemClock }: HostOptions,
): Promise<Storage> {
  const engine = await openEngine(options, { log, clock })
  let ledger: StorageLedger
  try {
    const key = await auditKey(options, engine.settings)
    ledger = new StorageLedger(engine.tables, {
      instance: options.instance,
      auditKey: key,
      keepDays: options.keepDays,
      clock,
      log,
    })
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
  const { runs, keys, settings, validations, toolUse, once, jobs, knowledge, leases, cache } = engine
  return {
    ledger,
    runs,
    keys,
    settings,
    validations,
    toolUse,
    once,
    jobs,
    knowledge,
    ...(leases !== undefined && { leases }),
    ...(cache !== undefined && { cache }),
    onChange: (listener) => engine.onChange(listener),
    status: () => engine.status(),
    close() {
      closed ??= close()
      return closed
    },
  }
}

async function openEngine(options: StorageOptions, around: { log: Log; clock: Clock }): Promise<Engine> {
  const { url } = options
  if (url === undefined) return openSqliteEngine(options, around)
  const { openPostgresEngine } = await import('../postgres/open-postgres-engine.ts')
  return openPostgresEngine({ ...options, url }, around)
}
