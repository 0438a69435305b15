import { randomUUID } from 'node:crypto'
import { type Command, Option } from 'commander'
import type { Access, Actor } from '../../app/callers/audit-events.ts'
import { hashApiKey, newApiKey, SCOPES, type Scope } from '../../app/callers/callers.ts'
import { type Flags, isFlagName, listTenants, MAX_FLAG_LENGTH, storedFlags } from '../../app/callers/tenants.ts'
import { tenantOfUser } from '../../app/callers/users.ts'
import { KEY_PATTERN, MAX_KEY_PATTERNS, type Roles, rolesOf, unknownRole } from '../../config/roles.ts'
import { dataFolder } from '../../core/environment.ts'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import type { KeyBudget, StoredKey } from '../../core/storage/key-store.ts'
import type { Storage } from '../../storage/sql/engine.ts'
import { configFile, hasStore, readConfig, readStore, withAccess } from '../common/open.ts'
import { readInteger, type TenantOptions, tenantName } from '../common/params.ts'
import {
  actions,
  type Done,
  type GlobalOptions,
  printableLine,
  showTable,
  type Terminal,
  UsageError,
} from '../common/terminal.ts'

const KEYS_HELP = `
Each key belongs to a tenant. Its role decides what the key may do: --scope restricts it to some of that, --all-tenants
lets it read the records of all tenants. A running server applies changes within a second.

Examples:
  $ toolyard keys create --tenant acme --name ci --role operator --expires 90d
  $ toolyard keys create --tenant acme --name page --tools 'get_*' calculate --models 'mini:*'
  $ toolyard keys list
  $ toolyard keys signing
  $ toolyard keys edit 6d1f0a52-8d4e-4d0a-9a43-5d6f3c1f7a11 --tools 'get_*' --expires never
  $ toolyard keys rotate 6d1f0a52-8d4e-4d0a-9a43-5d6f3c1f7a11 --grace 2h
  $ toolyard keys revoke 6d1f0a52-8d4e-4d0a-9a43-5d6f3c1f7a11
  $ toolyard keys revoke user:acme/ada`

export function defineKeys(keys: Command, terminal: Terminal, done: Done): void {
  const run = actions(terminal, done)
  keys.addHelpText('after', KEYS_HELP)

  keys
    .command('create')
    .description('Create a key and print it once')
    .option('--tenant <id>', 'the tenant that the key belongs to (default local)')
    .option('--name <name>', 'a display name')
    .option('--role <role>', 'what the key may do: user, operator, admin, or a role of the configuration', 'user')
    .addOption(new Option('--scope <scopes...>', 'only these scopes of the role').choices(SCOPES.slice(0, -1)))
    .option('--all-tenants', 'may read the audit log, the runs and the metrics of all tenants')
    .option('--tools <patterns...>', 'only these tools; * stands for any characters')
    .option('--models <patterns...>', 'only these models, such as openai:gpt-4o or mini:*')
    .option('--calls-per-minute <n>', 'rate limit (default: the one in the configuration)')
    .option('--budget <amount>', 'what it may spend, such as 10/month or 0.5/day:warn (default: no limit)')
    .option('--expires <when>', 'such as 90d, 12h, 30m or 2030-01-31 (default: never)')
    .action(run(keysCreate))

  keys
    .command('edit')
    .description('Change the name and the rights of a key')
    .argument('<id>', 'the id that "keys list" shows')
    .option('--name <name>', 'a display name')
    .option('--role <role>', 'what the key may do: user, operator, admin, or a role of the configuration')
    .addOption(
      new Option('--scope <scopes...>', 'only these scopes of the role, or all').choices([...SCOPES.slice(0, -1), ALL]),
    )
    .option('--all-tenants', 'may read the audit log, the runs and the metrics of all tenants')
    .option('--no-all-tenants', 'may not read the records of other tenants')
    .option('--tools <patterns...>', 'only these tools; "*": all')
    .option('--models <patterns...>', 'only these models; "*": all')
    .option('--calls-per-minute <n>', 'rate limit; "default": the one in the configuration')
    .option('--budget <amount>', 'what it may spend, such as 10/month; "none": no limit')
    .option('--expires <when>', 'such as 90d or 2030-01-31; "never"')
    .action(run(keysEdit))

  keys
    .command('list')
    .description('List the keys without their secrets')
    .option('--tenant <id>', 'only keys of this tenant')
    .action(run(keysList))

  keys
    .command('rotate')
    .description('Give a key another secret and print it once')
    .argument('<id>', 'the id that "keys list" shows')
    .option('--grace <time>', 'how long the former secret is accepted, such as 30m or 2h, at most 24h', '0m')
    .action(run(keysRotate))

  keys
    .command('revoke')
    .description('Revoke a key, or sign a user out')
    .argument('<id>', 'the id that "keys list" shows, or user:<tenant>/<sub>')
    .action(run(keysRevoke))

  keys
    .command('signing')
    .description('Show the fingerprint of the key that signs packages; it is created if it does not exist')
    .action(run(keysSigning))
}

/** `toolyard keys signing`: the key of `toolyard pack`. The private key stays in the data folder. */
async function keysSigning(terminal: Terminal): Promise<number> {
  const { fingerprintOf, openSigner } = await import('../../packages/signing.ts')
  const { key = '' } = (await openSigner(dataFolder(terminal.env))) ?? {}
  const fingerprint = fingerprintOf(key)
  if (terminal.json) terminal.document({ fingerprint, key })
  else {
    terminal.result(fingerprint)
    terminal.note(
      'It signs the packages of "toolyard pack". Publish the fingerprint where the users of your packages can find it.',
    )
  }
  return 0
}

export interface KeysCreateOptions extends TenantOptions {
  readonly name?: string
  readonly role: string
  readonly scope?: readonly Scope[]
  readonly allTenants?: boolean
  readonly tools?: readonly string[]
  readonly models?: readonly string[]
  readonly callsPerMinute?: string
  readonly budget?: string
  readonly expires?: string
}

/** Ends a restriction of scopes. */
const ALL = 'all'
const MAX_NAME_LENGTH = 100
const MAX_CALLS_PER_MINUTE = 10_000_000
const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `toolyard keys create`: prints the new key, which is never shown again. */
export async function keysCreate(terminal: Terminal, options: KeysCreateOptions): Promise<number> {
  const key = newApiKey()
  const stored = storedKey(key, options, await configuredRoles(terminal, options), Date.now())
  await withAccess(terminal, options, (access, by) => access.createKey(stored, by))
  const { hash: _, revoked_at: __, ...shown } = stored
  if (terminal.json) {
    terminal.document({ key, ...shown })
    return 0
  }
  terminal.result(key)
  const { name, tenant, role, id, expires_at } = stored
  const until = expires_at === null ? '' : `, valid until ${expires_at}`
  terminal.note(`Created key '${printableLine(name)}' for tenant '${tenant}', role ${role}${until}. Its id is ${id}.`)
  terminal.note('The key is not shown again: store it with your other secrets.')
  return 0
}

interface KeysEditOptions extends GlobalOptions, Partial<Omit<KeysCreateOptions, 'scope'>> {
  readonly scope?: readonly (Scope | typeof ALL)[]
}

/** `toolyard keys edit`: what no option names stays as it is. */
export async function keysEdit(terminal: Terminal, id: string, options: KeysEditOptions): Promise<number> {
  const roles = await configuredRoles(terminal, options)
  const edit = async (access: Access, by: Actor, { keys }: Storage): Promise<StoredKey | undefined> => {
    const before = (await keys.list()).find((key) => key.id === id)
    if (before === undefined) return undefined
    if (before.revoked_at !== null) throw new UsageError(`The key '${printableLine(id)}' is revoked: create a new one.`)
    const after = editedKey(before, options, roles, Date.now())
    if (await access.changeKey(before, after, by)) return after
    throw new UsageError(`The key '${printableLine(id)}' was changed at the same time: try again.`)
  }
  const edited = hasStore(terminal) ? await withAccess(terminal, options, edit) : undefined
  if (edited === undefined) throw unknownKey(id)
  const { hash: _, ...shown } = edited
  if (terminal.json) terminal.document(shown)
  else showTable(terminal, [HEAD, rowOf({ ...shown, state: stateOf(edited, Date.now()) }, roles)])
  return 0
}

function editedKey(before: StoredKey, options: KeysEditOptions, roles: Roles, now: number): StoredKey {
  const { name, role = before.role, scope, allTenants, tools, models, callsPerMinute, budget, expires } = options
  const isWhole = allTenants ?? before.scopes?.includes('installation') ?? false
  const kept = scope ?? before.scopes?.filter((one) => one !== 'installation')
  const included = roles.get(role)?.scopes ?? []
  // All scopes of the role are stored beside `installation`: they are no restriction then.
  const isAll = kept === undefined || kept.includes(ALL) || included.every((one) => kept.includes(one))
  const isSame = options.role === undefined && scope === undefined && allTenants === undefined
  const scopes = readScopes({ role, allTenants: isWhole, ...(!isAll && { scope: kept as readonly Scope[] }) }, roles)
  const given = <Value>(text: string | undefined, nothing: string, old: Value, read: (text: string) => Value) =>
    text === undefined ? old : text === nothing ? (null as Value) : read(text)
  return {
    ...before,
    name: name === undefined ? before.name : readName(name),
    role,
    scopes: isSame ? before.scopes : scopes,
    tools: tools === undefined ? before.tools : readPatterns('--tools', tools.includes('*') ? undefined : tools),
    models: models === undefined ? before.models : readPatterns('--models', models.includes('*') ? undefined : models),
    calls_per_minute: given(callsPerMinute, 'default', before.calls_per_minute, readCalls),
    budget: given(budget, 'none', before.budget ?? null, readBudget),
    expires_at: given(expires, 'never', before.expires_at, (text) => readExpiry(text, now)),
  }
}

const configuredRoles = async (terminal: Terminal, options: GlobalOptions): Promise<Roles> =>
  rolesOf(await readConfig(configFile(terminal, options.config), { secrets: false }))

function storedKey(key: string, options: KeysCreateOptions, roles: Roles, now: number): StoredKey {
  const { role, name, callsPerMinute, expires } = options
  const id = randomUUID()
  return {
    id,
    hash: hashApiKey(key),
    tenant: tenantName(options.tenant ?? LOCAL_TENANT),
    name: readName(name ?? `key-${id.slice(0, 8)}`),
    role,
    scopes: readScopes(options, roles),
    tools: readPatterns('--tools', options.tools),
    models: readPatterns('--models', options.models),
    calls_per_minute: callsPerMinute === undefined ? null : readCalls(callsPerMinute),
    budget: options.budget === undefined ? null : readBudget(options.budget),
    created_at: new Date(now).toISOString(),
    expires_at: expires === undefined ? null : readExpiry(expires, now),
    revoked_at: null,
    created_by: null,
  }
}

const readCalls = (text: string): number => readInteger('--calls-per-minute', text, 1, MAX_CALLS_PER_MINUTE)

/** Reads `10/month` or `0.5/day:warn`. */
function readBudget(text: string): KeyBudget {
  const [, amount, per, action] = /^(\d{1,9}(?:\.\d{1,6})?)\/(day|month)(?::(warn|refuse))?$/.exec(text) ?? []
  if (amount === undefined) {
    throw new UsageError(
      `--budget takes an amount per day or month, such as 10/month or 0.5/day:warn, not '${printableLine(text)}'.`,
    )
  }
  const budget = { per: per as KeyBudget['per'], amount: Number(amount) }
  return action === undefined ? budget : { ...budget, action: action as 'warn' | 'refuse' }
}

function readName(text: string): string {
  if (text.trim() !== '' && text.length <= MAX_NAME_LENGTH && !/\p{Cc}/u.test(text)) return text
  throw new UsageError(`--name takes 1 to ${MAX_NAME_LENGTH} characters on one line, not '${printableLine(text)}'.`)
}

/** Null means every scope of the role. */
function readScopes(
  { role, scope, allTenants }: Pick<KeysCreateOptions, 'role' | 'scope' | 'allTenants'>,
  roles: Roles,
): readonly Scope[] | null {
  const included = roles.get(role)?.scopes
  if (included === undefined) throw new UsageError(unknownRole(role, roles))
  const more = scope?.find((one) => !included.includes(one))
  if (more !== undefined) {
    throw new UsageError(`The role '${role}' does not include the scope '${more}', only ${included.join(', ')}.`)
  }
  if (!allTenants) return scope === undefined ? null : [...new Set(scope)]
  return [...new Set<Scope>([...(scope ?? included), 'installation'])]
}

function readPatterns(option: string, patterns: readonly string[] | undefined): readonly string[] | null {
  if (patterns === undefined) return null
  const odd = patterns.find((pattern) => !KEY_PATTERN.test(pattern))
  if (odd === undefined && patterns.length <= MAX_KEY_PATTERNS) return [...new Set(patterns)]
  const problem = odd === undefined ? `${patterns.length}` : `'${printableLine(odd)}'`
  throw new UsageError(
    `${option} takes up to ${MAX_KEY_PATTERNS} patterns of 1 to 200 characters without spaces, not ${problem}.`,
  )
}

/** Reads `90d`, `12h`, `30m` or a date. */
function readExpiry(text: string, now: number): string {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const isDate = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.test(text)
  const at = unit
    ? now + Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS]
    : isDate
      ? Date.parse(text)
      : Number.NaN
  if (at > now && at < Date.UTC(9999, 0)) return new Date(at).toISOString()
  throw new UsageError(
    `--expires takes a time in the future, such as 90d, 12h, 30m or 2030-01-31, not '${printableLine(text)}'.`,
  )
}

const HEAD = ['ID', 'TENANT', 'NAME', 'ROLE', 'SCOPES', 'STATE']

type ListedKey = Omit<StoredKey, 'hash'> & { readonly state: 'active' | 'expired' | 'revoked' }

/** `toolyard keys list`: every key without its secret and its hash. */
export async function keysList(terminal: Terminal, options: TenantOptions): Promise<number> {
  const tenant = options.tenant === undefined ? undefined : tenantName(options.tenant)
  const all = await readStore(terminal, options, ({ keys }) => keys.list(), [])
  const listed = all
    .filter((key) => tenant === undefined || key.tenant === tenant)
    .map(({ hash: _, ...key }): ListedKey => ({ ...key, state: stateOf(key, Date.now()) }))
  if (terminal.json) terminal.document({ keys: listed })
  else if (listed.length === 0) {
    terminal.note(`No keys${tenant === undefined ? '' : ` for tenant '${tenant}'`}. Create one: toolyard keys create`)
  } else {
    const roles = await configuredRoles(terminal, options)
    showTable(terminal, [HEAD, ...listed.map((key) => rowOf(key, roles))])
  }
  return 0
}

function rowOf(key: ListedKey, roles: Roles): string[] {
  const { id, tenant, name, role, scopes, tools, models, calls_per_minute, budget, state, expires_at, revoked_at } = key
  const limits = [
    ...(tools === null ? [] : [`tools ${tools.join(' ')}`]),
    ...(models === null ? [] : [`models ${models.join(' ')}`]),
    ...(calls_per_minute === null ? [] : [`${calls_per_minute} calls per minute`]),
    ...(budget ? [`budget ${budget.amount} a ${budget.per}`] : []),
  ]
  const limit = limits.length === 0 ? '' : ` (${limits.join(', ')})`
  const since = {
    active: expires_at === null ? '' : ` until ${expires_at}`,
    expired: ` ${expires_at}`,
    revoked: ` ${revoked_at}`,
  }
  const may = roles.has(role) ? (scopes ?? roles.get(role)?.scopes ?? []).join(' ') : 'nothing: unknown role'
  return [id, tenant, name, role, `${may}${limit}`, `${state}${since[state]}`]
}

function stateOf({ revoked_at, expires_at }: Omit<StoredKey, 'hash'>, now: number): ListedKey['state'] {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(expires_at) <= now ? 'expired' : 'active'
}

const unknownKey = (id: string): UsageError =>
  new UsageError(`There is no key with the id '${printableLine(id)}': see "toolyard keys list".`)

/** `toolyard keys revoke`: the key is invalid from now on, or all that a user has from the issuer. */
export async function keysRevoke(terminal: Terminal, id: string, options: GlobalOptions): Promise<number> {
  const revoke = async (access: Access, by: Actor) => {
    const tenant = tenantOfUser(id)
    if (tenant === undefined) return access.revokeKey(id, new Date().toISOString(), by)
    await access.revokeUser(id, tenant, Date.now(), by)
    return true
  }
  const known = hasStore(terminal) && (await withAccess(terminal, options, revoke))
  if (!known) throw unknownKey(id)
  if (terminal.json) terminal.document({ id, revoked: true })
  else terminal.result(`Revoked ${printableLine(id)}`)
  return 0
}

/** `toolyard keys rotate`: prints the new secret, which is never shown again. */
async function keysRotate(
  terminal: Terminal,
  id: string,
  options: GlobalOptions & { readonly grace: string },
): Promise<number> {
  const [, count = '', unit = ''] = /^(\d{1,6})([mh])$/.exec(options.grace) ?? []
  const graceMs = Number(count) * UNITS_MS[unit as 'm' | 'h']
  if (count === '' || graceMs > UNITS_MS.d) {
    throw new UsageError(`--grace is 0m to 24h, such as 30m or 2h, not '${printableLine(options.grace)}'.`)
  }
  const secret = newApiKey()
  const until = new Date(Date.now() + graceMs).toISOString()
  const rotate = async (access: Access, by: Actor, { keys }: Storage): Promise<boolean> => {
    const key = (await keys.list()).find((one) => one.id === id)
    if (key === undefined) throw unknownKey(id)
    if (stateOf(key, Date.now()) !== 'active') {
      throw new UsageError(`The key '${printableLine(id)}' is revoked or has expired: create a new one.`)
    }
    return access.rotateKey(key, hashApiKey(secret), until, by)
  }
  if (!hasStore(terminal)) throw unknownKey(id)
  if (!(await withAccess(terminal, options, rotate))) {
    throw new UsageError(`The key '${printableLine(id)}' was changed at the same time: try again.`)
  }
  const formerUntil = graceMs === 0 ? null : until
  if (terminal.json) terminal.document({ key: secret, id, former_until: formerUntil })
  else {
    terminal.result(secret)
    const former = formerUntil === null ? 'is refused from now on' : `is accepted until ${formerUntil}`
    terminal.note(`This is shown only once. The former secret ${former}.`)
  }
  return 0
}

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
