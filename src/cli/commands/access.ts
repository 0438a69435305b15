import type { Command } from 'commander'
import type { Access, Actor } from '../../app/callers/audit-events.ts'
import { type Flags, isFlagName, listTenants, MAX_FLAG_LENGTH, storedFlags } from '../../app/callers/tenants.ts'
import type { Storage } from '../../storage/sql/engine.ts'
import { configFile, hasStore, readConfig, readStore, withAccess } from '../common/open.ts'
import { tenantName } from '../common/params.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  printableLine,
  showTable,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'

const TENANTS_HELP = `
A flag is the name of a permission or a tool: true allows, false forbids. Stored flags override those in the
configuration. A running server applies changes within a second.

Examples:
  $ toolyard tenants list
  $ toolyard tenants set acme search=true delete_document=false
  $ toolyard tenants set acme --unset search`

export function defineTenants(tenants: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  tenants.addHelpText('after', TENANTS_HELP)

  tenants.command('list').description('List the tenants and their flags').action(run(tenantsList))

  tenants
    .command('set')
    .description('Store flags for a tenant')
    .argument('<id>', 'the tenant')
    .argument('[flags...]', 'name=true or name=false')
    .option('--unset <flags...>', 'remove these stored flags')
    .action(run(tenantsSet))

  tenants
    .command('remove')
    .description('Remove all stored flags of a tenant')
    .argument('<id>', 'the tenant')
    .action(run(tenantsRemove))
}

interface TenantsSetOptions extends GlobalOptions {
  readonly unset?: readonly string[]
}

/** `toolyard tenants list`: every tenant with flags or keys. */
export async function tenantsList(terminal: Terminal, options: GlobalOptions): Promise<number> {
  const config = await readConfig(configFile(terminal, options.config))
  const [stored, keys] = await readStore(
    terminal,
    options,
    ({ settings, keys }) => Promise.all([storedFlags(settings), keys.list()]),
    [new Map<string, Flags>(), []],
  )
  const listed = listTenants(config, stored, keys)
  if (terminal.json) terminal.document({ tenants: listed })
  else if (listed.length === 0) terminal.note('No tenant has flags or keys yet.')
  else {
    const rows = listed.map((tenant) => [
      tenant.id,
      String(tenant.keys),
      flagWords(tenant.configured),
      flagWords(tenant.stored),
    ])
    showTable(terminal, [['TENANT', 'KEYS', 'CONFIGURED', 'STORED'], ...rows])
    terminal.note('Stored flags override configured ones.')
  }
  return 0
}

/** `toolyard tenants set`: stores flags; other stored flags stay. */
export async function tenantsSet(
  terminal: Terminal,
  name: string,
  words: readonly string[],
  options: TenantsSetOptions,
): Promise<number> {
  const tenant = tenantName(name)
  const set = new Map(words.map(readFlag))
  const unset = new Set((options.unset ?? []).map(flagName))
  if (set.size + unset.size === 0)
    throw new UsageError('Name the flags to set, such as search=true, or --unset search.')
  const both = [...set.keys()].find((flag) => unset.has(flag))
  if (both !== undefined) throw new UsageError(`The flag '${printableLine(both)}' cannot be both set and unset.`)
  const changes = new Map<string, boolean | null>([...set, ...[...unset].map((flag) => [flag, null] as const)])
  const flags = await withAccess(terminal, options, (access, by) => access.changeFlags(tenant, changes, by))
  if (terminal.json) terminal.document({ id: tenant, stored: flags })
  else terminal.result(printableLine(`${tenant}  ${flagWords(flags) || 'no stored flags'}`))
  return 0
}

/** `toolyard tenants remove`: removes the stored flags of a tenant. */
export async function tenantsRemove(terminal: Terminal, name: string, options: GlobalOptions): Promise<number> {
  const tenant = tenantName(name)
  const remove = async (access: Access, by: Actor, { keys }: Storage) =>
    (await access.removeFlags(tenant, by)) ? await keys.list() : undefined
  const keys = hasStore(terminal) ? await withAccess(terminal, options, remove) : undefined
  if (keys === undefined) throw new UsageError(`Tenant '${tenant}' has no stored flags: see "toolyard tenants list".`)
  const valid = keys.filter((key) => key.tenant === tenant && key.revoked_at === null).length
  if (terminal.json) terminal.document({ id: tenant, removed: true, keys: valid })
  else {
    terminal.result(`Removed the stored flags of ${tenant}`)
    if (valid > 0) terminal.note(`Its keys (${valid}) stay valid: revoke them with "toolyard keys revoke".`)
  }
  return 0
}

function readFlag(word: string): [string, boolean] {
  const [, name, value] = /^(.*)=(true|false)$/s.exec(word) ?? []
  if (name !== undefined) return [flagName(name), value === 'true']
  throw new UsageError(`Set a flag with name=true or name=false, not '${printableLine(word)}'.`)
}

function flagName(text: string): string {
  if (isFlagName(text)) return text
  throw new UsageError(
    `A flag is the name of a permission or a tool, up to ${MAX_FLAG_LENGTH} characters, not '${printableLine(text)}'.`,
  )
}

const flagWords = (flags: Flags): string =>
  Object.entries(flags)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
