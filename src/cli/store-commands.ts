import { type Command, Option } from 'commander'
import { ROLES, SCOPES } from '../config/callers/scopes.ts'
import { TOOL_ERRORS } from '../core/tool-error-code.ts'
import type { Terminal } from './terminal.ts'

const KEYS_HELP = `
Each key belongs to a tenant. Its role says what it may do; --scope takes some of that away, --all-tenants adds the sight
of all tenants. A running server takes every change up within a second.

Examples:
  $ toolyard keys create --tenant acme --name ci --role operator --expires 90d
  $ toolyard keys list
  $ toolyard keys revoke 6d1f0a52-8d4e-4d0a-9a43-5d6f3c1f7a11`

const TENANTS_HELP = `
A flag is the name of a permission or of a tool: true allows, false forbids. What is stored goes before what the
configuration says. A running server takes every change up within a second.

Examples:
  $ toolyard tenants list
  $ toolyard tenants set acme search=true delete_document=false
  $ toolyard tenants set acme --unset search`

const AUDIT_HELP = `
Examples:
  $ toolyard audit list --tenant acme --outcome failure --from 2026-01-31
  $ toolyard audit export --format csv > audit.csv
  $ toolyard audit verify`

/** `toolyard keys …`, `toolyard tenants …` and `toolyard audit …`: what works on the store of the installation. */
export function addStoreCommands(program: Command, terminal: Terminal, done: (code: number) => void): void {
  addKeys(program, terminal, done)
  addTenants(program, terminal, done)
  addAudit(program, terminal, done)
}

function addKeys(program: Command, terminal: Terminal, done: (code: number) => void): void {
  const keys = program
    .command('keys')
    .description('API keys: make, list and revoke them')
    .addHelpText('after', KEYS_HELP)

  keys
    .command('create')
    .description('make a key, and print it this once')
    .option('--tenant <id>', 'whose it is; else local')
    .option('--name <name>', 'what people call it')
    .addOption(new Option('--role <role>', 'what it may do').choices(Object.keys(ROLES)).default('user'))
    .addOption(new Option('--scope <scopes...>', 'only this of what the role may do').choices(SCOPES.slice(0, -1)))
    .option('--all-tenants', 'sees the audit, the runs and the figures of all tenants')
    .option('--calls-per-minute <n>', 'how many; else as configured')
    .option('--expires <when>', 'such as 90d, 12h, 30m or 2030-01-31; else never')
    .action(async (_, command: Command) => {
      const { keysCreate } = await import('./commands/keys-create.ts')
      done(await keysCreate(terminal, command.optsWithGlobals()))
    })

  keys
    .command('list')
    .description('list the keys; never their text')
    .option('--tenant <id>', 'only those of this tenant')
    .action(async (_, command: Command) => {
      const { keysList } = await import('./commands/keys-list.ts')
      done(await keysList(terminal, command.optsWithGlobals()))
    })

  keys
    .command('revoke')
    .description('end a key')
    .argument('<id>', 'its id, as keys list shows it')
    .action(async (id: string, _, command: Command) => {
      const { keysRevoke } = await import('./commands/keys-revoke.ts')
      done(await keysRevoke(terminal, id, command.optsWithGlobals()))
    })
}

function addTenants(program: Command, terminal: Terminal, done: (code: number) => void): void {
  const tenants = program
    .command('tenants')
    .description('tenants: what each may use')
    .addHelpText('after', TENANTS_HELP)

  tenants
    .command('list')
    .description('list the tenants and their flags')
    .action(async (_, command: Command) => {
      const { tenantsList } = await import('./commands/tenants-list.ts')
      done(await tenantsList(terminal, command.optsWithGlobals()))
    })

  tenants
    .command('set')
    .description('store flags of a tenant')
    .argument('<id>', 'the tenant')
    .argument('[flags...]', 'name=true or name=false')
    .option('--unset <flags...>', 'forget these flags')
    .action(async (id: string, flags: string[], _, command: Command) => {
      const { tenantsSet } = await import('./commands/tenants-set.ts')
      done(await tenantsSet(terminal, id, flags, command.optsWithGlobals()))
    })

  tenants
    .command('remove')
    .description('forget all flags that are stored for a tenant')
    .argument('<id>', 'the tenant')
    .action(async (id: string, _, command: Command) => {
      const { tenantsRemove } = await import('./commands/tenants-remove.ts')
      done(await tenantsRemove(terminal, id, command.optsWithGlobals()))
    })
}

function addAudit(program: Command, terminal: Terminal, done: (code: number) => void): void {
  const audit = program
    .command('audit')
    .description('the record of all calls: look at it, take it out, check it')
    .addHelpText('after', AUDIT_HELP)

  audit
    .command('verify')
    .description('check that nothing was changed or taken out; exit code 1 where something was')
    .action(async (_, command: Command) => {
      const { auditVerify } = await import('./commands/audit-verify.ts')
      done(await auditVerify(terminal, command.optsWithGlobals()))
    })

  choosing(audit.command('list').description('list calls, the newest first'))
    .option('--limit <n>', 'at most so many, 1 to 1000; else 50')
    .option('--cursor <text>', 'go on where the last list ended')
    .action(async (_, command: Command) => {
      const { auditList } = await import('./commands/audit-list.ts')
      done(await auditList(terminal, command.optsWithGlobals()))
    })

  choosing(audit.command('export').description('print all calls that fit, for a file'))
    .addOption(new Option('--format <format>', 'else csv').choices(['csv', 'json']))
    .action(async (_, command: Command) => {
      const { auditExport } = await import('./commands/audit-export.ts')
      done(await auditExport(terminal, command.optsWithGlobals()))
    })
}

const choosing = (command: Command): Command =>
  command
    .option('--tenant <id>', 'only of this tenant')
    .option('--tool <name>', 'only of this tool')
    .option('--caller <id>', 'only by this key')
    .option('--run <id>', 'only of this run')
    .addOption(new Option('--outcome <outcome>', 'only these').choices(['success', 'failure', 'unknown']))
    .addOption(new Option('--error-code <code>', 'only these').choices(Object.keys(TOOL_ERRORS)))
    .option('--from <time>', 'from this time on, such as 2026-01-31 or 2026-01-31T12:00:00Z')
    .option('--to <time>', 'before this time')
