import type { Command } from 'commander'
import { dataFolder } from '../../core/environment.ts'
import { counted } from '../../core/schema/problem-words.ts'
import { type AuditReport, faultText } from '../../core/storage/ledger.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  ProgressLine,
  printableLine,
  showTable,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'

const STORAGE_HELP = `
A store is a PostgreSQL database, as postgres://user:password@host:5432/database, or a data folder. Stop all servers that
use one of the two stores first. The source is only read, and the target must be empty.

Examples:
  $ toolyard storage copy --to postgres://app@db.internal/toolyard
  $ toolyard storage copy --from postgres://app@db.internal/toolyard --to ./data`

export function defineStorage(storage: Command, terminal: Terminal, done: Done): void {
  storage.addHelpText('after', STORAGE_HELP)
  storage
    .command('copy')
    .description('Copy a store into an empty one and verify the audit log there; exits with 1 if it is not intact')
    .requiredOption('--to <store>', 'the target: postgres://… or a data folder')
    .option('--from <store>', 'the source (default: TOOLYARD_DATABASE_URL, else the data folder)')
    .option('--resume', 'continue a copy that was interrupted')
    .action(actions(terminal, done)(storageCopy))
  storage
    .command('rotate-key')
    .description('Encrypt what is stored with the first of the encryption keys; exits with 1 if a key is missing')
    .action(actions(terminal, done)(rotateKey))
}

const BACKUP_HELP = `
Servers may go on writing. The folder gets toolyard.db and audit.key, so it is as secret as the data folder. With
TOOLYARD_AUDIT_KEY set, the key is not copied: store it elsewhere.

Example:
  $ toolyard backup /backups/2026-01-31`

/** `toolyard backup`. */
export function defineBackup(command: Command, terminal: Terminal, done: Done): void {
  command.argument('<folder>', 'a folder without a store; created if it does not exist')
  command.addHelpText('after', BACKUP_HELP)
  command.action(actions(terminal, done)((_, folder: string) => copyFolder(terminal, 'Backed up', { to: folder })))
}

/** `toolyard restore`. */
export function defineRestore(command: Command, terminal: Terminal, done: Done): void {
  command.argument('<folder>', 'a folder that "toolyard backup" wrote')
  command.addHelpText('after', '\nThe data folder (TOOLYARD_DATA) must not have a store yet. The backup is only read.')
  command.action(actions(terminal, done)((_, folder: string) => copyFolder(terminal, 'Restored', { from: folder })))
}

/** Copies to or from the data folder: 1 if the audit log of the copy does not hold. */
async function copyFolder(
  terminal: Terminal,
  copied: string,
  folders: { readonly from: string } | { readonly to: string },
): Promise<number> {
  const { env } = terminal
  if (env.TOOLYARD_DATABASE_URL) {
    throw new UsageError('TOOLYARD_DATABASE_URL is set: back up PostgreSQL with pg_dump, restore it with pg_restore.')
  }
  const { backupStorage } = await import('../../storage/backup-storage.ts')
  const from = 'from' in folders ? terminal.path(folders.from) : dataFolder(env)
  const to = 'to' in folders ? terminal.path(folders.to) : dataFolder(env)
  const audit = await backupStorage({ from, to, auditKey: env.TOOLYARD_AUDIT_KEY || undefined })
  const ok = audit.faults.length === 0
  if (terminal.json) terminal.document({ ok, from, to, audit })
  else {
    terminal.result(printableLine(`${copied} ${from} to ${to}.`))
    showAudit(terminal, audit)
  }
  return ok ? 0 : 1
}

function showAudit(terminal: Terminal, audit: AuditReport): void {
  for (const fault of audit.faults) terminal.note(terminal.styleNote('red', printableLine(faultText(fault))))
  const checked = `${counted(audit.rows, 'row')} in ${counted(audit.chains, 'chain')}, ${counted(audit.seals, 'seal')}`
  if (audit.faults.length === 0) terminal.note(`The audit log of the target is intact: ${checked}.`)
  else terminal.note('The audit log is not intact: the source has the same faults.')
}

interface StorageCopyOptions extends GlobalOptions {
  readonly to: string
  readonly from?: string
  readonly resume?: boolean
}

/** `toolyard storage copy`: 1 if the audit log does not hold. */
async function storageCopy(terminal: Terminal, options: StorageCopyOptions): Promise<number> {
  const { env } = terminal
  const { copyStorage } = await import('../../storage/copy-storage.ts')
  const progress = new ProgressLine(terminal)
  const copy = copyStorage({
    from: readStoreName(terminal, '--from', options.from ?? (env.TOOLYARD_DATABASE_URL || dataFolder(env))),
    to: readStoreName(terminal, '--to', options.to),
    auditKey: env.TOOLYARD_AUDIT_KEY || undefined,
    resume: options.resume,
    onProgress: (rows, all, table) => progress.show(rows / Math.max(rows, all), `${rows} of ${all} rows: ${table}`),
  })
  const { from, to, tables, rows, audit } = await copy.finally(() => progress.clear())
  const ok = audit.faults.length === 0
  if (terminal.json) terminal.document({ ok, from, to, rows, tables, audit })
  else {
    showTable(terminal, [['TABLE', 'ROWS'], ...Object.entries(tables).map(([table, count]) => [table, String(count)])])
    terminal.note(printableLine(`Copied ${counted(rows, 'row')} from ${from} to ${to}.`))
    showAudit(terminal, audit)
  }
  return ok ? 0 : 1
}

function readStoreName(terminal: Terminal, option: string, store: string): string {
  if (/^postgres(ql)?:\/\//.test(store) && URL.canParse(store)) return store
  // A mistyped address is not a folder. The value may contain a password. One letter is a drive of Windows.
  if (store === '' || /^[\w+.-]{2,}:/.test(store)) {
    throw new UsageError(`${option} takes an address such as postgres://user:password@host:5432/database, or a folder.`)
  }
  return terminal.path(store)
}

/** `toolyard storage rotate-key`: 1 if a key is missing. */
async function rotateKey(terminal: Terminal, options: GlobalOptions): Promise<number> {
  const { hasStore, withInstallation } = await import('../common/open.ts')
  const { changed, failed } = hasStore(terminal)
    ? await withInstallation(terminal, options, ({ connections }) => connections.reseal())
    : { changed: 0, failed: 0 }
  if (terminal.json) terminal.document({ ok: failed === 0, changed, failed })
  else {
    terminal.result(`Encrypted ${counted(changed, 'text')} with the first key.`)
    if (failed > 0) terminal.note(`${counted(failed, 'text')} or more can't be decrypted: add the key that is missing.`)
  }
  return failed === 0 ? 0 : 1
}
