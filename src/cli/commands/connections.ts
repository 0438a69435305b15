import type { Command } from 'commander'
import { counted } from '../../core/schema/problem-words.ts'
import { commandUser, hasStore, withInstallation } from '../common/open.ts'
import { type TenantOptions, tenantName } from '../common/params.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  printableLine,
  showTable,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'

const HELP = `
Users connect their accounts at the OAuth providers under "connections" in the configuration. Tokens are never shown.

Examples:
  $ toolyard connections list --tenant acme
  $ toolyard connections revoke github --tenant acme --user user:acme/ada`

export function defineConnections(connections: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  connections.addHelpText('after', HELP)
  connections
    .command('list')
    .description('List the connections of a tenant')
    .option('--tenant <id>', 'the tenant', 'local')
    .action(run(connectionsList))
  connections
    .command('revoke')
    .description('Delete a connection, and revoke its tokens at the provider')
    .argument('<provider>', 'the entry under "connections"')
    .requiredOption('--user <id>', 'the user or key that "connections list" shows')
    .option('--tenant <id>', 'the tenant', 'local')
    .action(run(connectionsRevoke))
}

interface ListOptions extends TenantOptions {
  readonly tenant: string
}

interface RevokeOptions extends ListOptions {
  readonly user: string
}

const HEAD = ['PROVIDER', 'USER', 'STATUS', 'SCOPES', 'CONNECTED', 'RENEWED']

async function connectionsList(terminal: Terminal, options: ListOptions): Promise<number> {
  const tenant = tenantName(options.tenant)
  const connections = hasStore(terminal)
    ? await withInstallation(terminal, options, ({ connections }) => connections.listAll(tenant))
    : []
  if (terminal.json) terminal.document({ connections })
  else if (connections.length === 0) terminal.note(`The tenant '${tenant}' has no connections.`)
  else {
    const rows = connections.map(({ provider, user, status, scopes, connected_at, renewed_at }) =>
      [provider, user, status, scopes.join(' '), connected_at ?? '', renewed_at ?? ''].map(printableLine),
    )
    showTable(terminal, [HEAD, ...rows])
  }
  return 0
}

async function connectionsRevoke(terminal: Terminal, provider: string, options: RevokeOptions): Promise<number> {
  const key = { tenant: tenantName(options.tenant), user: options.user, provider }
  const removed = hasStore(terminal)
    ? await withInstallation(terminal, options, ({ connections }) => connections.remove(key, commandUser()))
    : undefined
  if (removed === undefined) {
    throw new UsageError(
      printableLine(`There is no connection of '${key.user}' to '${provider}': see "toolyard connections list".`),
    )
  }
  if (terminal.json) terminal.document(removed)
  else {
    terminal.result(printableLine(`Deleted the connection of ${key.user} to ${provider}.`))
    if (!removed.revoked) terminal.note('The provider has not confirmed that the tokens are revoked.')
  }
  return 0
}

/** `toolyard storage rotate-key`: 1 if a key is missing. */
export async function rotateKey(terminal: Terminal, options: GlobalOptions): Promise<number> {
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
