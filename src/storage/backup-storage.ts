import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import type { AuditReport } from '../core/storage/ledger.ts'
import { ToolExecutionError } from '../core/tool-result.ts'
import { verifyChains } from './ledger/verify-chain.ts'
import { SqlLedgerTables } from './sql/sql-ledger-tables.ts'
import { VERSION } from './sqlite/migrations.ts'
import { openSqliteSide } from './sqlite/sqlite-copy.ts'
import { readAuditKey, writeAuditKey } from './worker/host-storage.ts'

const FILE = 'toolyard.db'
/** One step, which reads one snapshot. Smaller steps start again whenever another process writes. */
const ALL_PAGES = 2 ** 31 - 1

interface BackupOptions {
  /** A data folder or a backup, which has the same files. It is only read, and may be in use. */
  readonly from: string
  /** A folder without a store. It is created if it doesn't exist. */
  readonly to: string
  /** `TOOLYARD_AUDIT_KEY`; without it `audit.key` is copied. */
  readonly auditKey?: string | undefined
}

/** Copies `toolyard.db` and `audit.key` into another folder, and verifies the audit log there. */
export async function backupStorage({ from, to, auditKey: given }: BackupOptions): Promise<AuditReport> {
  if (!existsSync(join(from, FILE))) throw refused(`There is no store in the folder ${from}`)
  if (existsSync(join(to, FILE))) throw refused(`The folder ${to} already has a store: use another folder`)
  const key = given ?? (await readAuditKey(from))
  if (key === undefined) throw refused(`There is no audit.key in ${from}: copy it there, or set TOOLYARD_AUDIT_KEY`)
  const kept = given === undefined ? await readAuditKey(to) : undefined
  if (kept !== undefined && kept !== key) throw refused(`The folder ${to} has another audit.key: use another folder`)
  await mkdir(to, { recursive: true, mode: 0o700 })
  const draft = await mkdtemp(join(to, '.backup-'))
  try {
    const version = await snapshot(from, draft)
    // Verifying migrates, but a backup must stay readable for the version of Toolyard that wrote it.
    const checked = version === VERSION ? draft : await mkdtemp(join(draft, 'check-'))
    if (checked !== draft) await snapshot(draft, checked)
    const report = await verify(checked, key)
    settle(join(draft, FILE))
    // The key comes first: a server would create another one for a store without a key.
    if (given === undefined) await writeAuditKey(to, key)
    await rename(join(draft, FILE), join(to, FILE))
    return report
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Copies the database while others may write to it. Returns the version of its layout. */
async function snapshot(from: string, to: string): Promise<number> {
  const path = join(to, FILE)
  closeSync(openSync(path, 'wx', 0o600))
  const source = new DatabaseSync(join(from, FILE), { readOnly: true, timeout: 5_000 })
  try {
    await backup(source, path, { rate: ALL_PAGES })
  } catch (error) {
    throw refused(`The store in ${from} cannot be copied: ${(error as Error).message}`)
  } finally {
    source.close()
  }
  const copy = new DatabaseSync(path, { readOnly: true })
  try {
    const [damage] = Object.values(copy.prepare('PRAGMA quick_check(1)').get() ?? {})
    if (damage !== 'ok') throw refused(`The store in ${from} is damaged: ${damage}`)
    const version = Number(copy.prepare('PRAGMA user_version').get()?.user_version)
    if (version <= VERSION) return version
    throw refused(
      `The store in ${from} was written by a newer version of Toolyard (its version is ${version}, this one knows up to ` +
        `${VERSION}): use that version`,
    )
  } finally {
    copy.close()
  }
}

async function verify(folder: string, key: string): Promise<AuditReport> {
  const side = await openSqliteSide(folder, true)
  try {
    return await verifyChains(new SqlLedgerTables(side.database), key, new Map())
  } finally {
    await side.close()
  }
}

/** Leaves one file without a write-ahead log, which can be read from a read-only disk. */
function settle(path: string): void {
  const database = new DatabaseSync(path)
  try {
    database.exec('PRAGMA journal_mode = DELETE')
  } finally {
    database.close()
  }
}

const refused = (message: string): ToolExecutionError => new ToolExecutionError('SERVICE_UNAVAILABLE', message)
