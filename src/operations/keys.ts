import { randomUUID } from 'node:crypto'
import { hashApiKey, LOCAL_CALLER, NO_KEY, newApiKey, SCOPES, WRONG_KEY } from '../app/callers/callers.ts'
import { ADMIN_SCOPES, MAX_KEY_PATTERNS, type Roles, rolesOf } from '../config/roles.ts'
import { LOCAL_TENANT } from '../core/execution/call.ts'
import { found, OperationError } from '../core/operation/operation-error.ts'
import type { StoredKey } from '../core/storage/key-store.ts'
import {
  changedScopes,
  checkRights,
  expiryOf,
  KEY,
  KEY_CHANGES,
  type KeyChanges,
  NEW_KEY,
  type NewKey,
  requireAllRights,
  rightsOf,
  type ShownKey,
  scopesOf,
} from './key-rules.ts'
import { KEY_HEAD, keyRow, readBudget, readExpiry, readGrace, readTyped, stateOf } from './key-words.ts'
import {
  given,
  inPath,
  list,
  type OperationCall,
  object,
  operation,
  type Shown,
  type StoreHost,
  TEXT,
  TIME_OR_NULL,
} from './operation.ts'

const ID = { id: inPath(64) }
const MAX_GRACE_MINUTES = 24 * 60
const MINUTE_MS = 60_000

/** How long a revoked key can be restored. */
const RESTORE_MS = 5 * 60_000
/** All servers read all keys with every change of one. */
const MAX_KEYS = 1_000
const DAY_MS = 86_400_000

const shown = ({ hash: _, ...key }: StoredKey, { caller }: OperationCall, usedAt?: number): ShownKey => {
  const { tenant: _tenant, ...own } = key
  const last_used_at = usedAt === undefined ? null : new Date(usedAt).toISOString()
  return { ...(caller === undefined ? key : own), last_used_at }
}

const wallTime = ({ clock }: StoreHost, msAgo = 0): string => new Date(clock.wall() - msAgo).toISOString()

/** The key, of which it is recorded if a caller asks for one of another tenant. */
async function keyOf(
  { storage, events }: StoreHost,
  id: string,
  { caller, tenant }: OperationCall,
): Promise<StoredKey> {
  const key = (await storage.keys.list()).find((one) => one.id === id)
  const isOwn = tenant === undefined || key?.tenant === tenant
  if (!isOwn && caller !== undefined) events.crossed(caller, `key ${id}`, key?.tenant)
  return found(isOwn ? key : undefined, 'Key', id)
}

/** Whether the key that makes a change was revoked at the same moment. */
const hasEnded = ({ callers }: StoreHost, { caller }: OperationCall): boolean =>
  caller !== undefined && caller !== LOCAL_CALLER && callers?.isValid(caller.id) === false

const rolesIn = async (host: Pick<StoreHost, 'currentConfig'>): Promise<Roles> => rolesOf(await host.currentConfig())
const ended = (): OperationError => new OperationError('unauthorized', ...WRONG_KEY)
const changedMeanwhile = (id: string, then: string): OperationError =>
  new OperationError('conflict', `Key '${id}' was changed at the same time`, `read it again, then ${then} it`)

/** The key is invalid from now on. */
export async function revokeKey(host: StoreHost, id: string, call: OperationCall): Promise<void> {
  await keyOf(host, id, call)
  await host.access.revokeKey(id, wallTime(host), call.by)
  await host.callers?.load(host.storage.keys)
}

const NAME_OPTION = { flags: '--name <name>', description: 'a display name', takes: '1 to 100 characters on one line' }
const ALL_TENANTS = {
  flags: '--all-tenants',
  description: 'may read the audit log, the runs and the metrics of all tenants',
}
const TAKES_PATTERNS = `up to ${MAX_KEY_PATTERNS} patterns of 1 to 200 characters without spaces`
const ROLE_WORDS = 'what the key may do: user, operator, admin, or a role of the configuration'
const GRANTED = SCOPES.slice(0, -1)
/** Ends a restriction of scopes. */
const ALL = 'all'
const ID_ARGUMENT = { id: 'the id that "keys list" shows' }
const OF_KEYS = { thing: 'key with the id', hint: 'see "toolyard keys list"' }

/** The document of commands has no use on a server. */
const plain = ({ last_used_at: _, ...key }: ShownKey) => key

const operations = {
  list: operation({
    id: 'keys.list',
    method: 'GET',
    path: '/api/keys',
    scope: 'manage',
    tag: 'keys',
    summary: 'Lists the API keys of your tenant without their secrets',
    answer: object({ keys: list(KEY) }, 'The keys, including revoked ones'),
    needs: 'store',
    async run({ storage, callers }, _input, call): Promise<{ readonly keys: readonly ShownKey[] }> {
      const used = callers?.lastUses()
      const { tenant } = call
      const keys = (await storage.keys.list()).filter((key) => tenant === undefined || key.tenant === tenant)
      return { keys: keys.map((key) => shown(key, call, used?.get(key.id))) }
    },
    cli: {
      command: 'keys list',
      description: 'List the keys without their secrets',
      tenant: 'only keys of this tenant',
      nothing: { keys: [] },
      show({ keys }, _input, { tenant, currentConfig }): Shown {
        const document = { keys: keys.map((key) => ({ ...plain(key), state: stateOf(key) })) }
        if (keys.length === 0) {
          const whose = tenant === undefined ? '' : ` for tenant '${tenant}'`
          return { document, notes: [`No keys${whose}. Create one: toolyard keys create`] }
        }
        const table = async () => {
          const roles = rolesOf(await currentConfig())
          return [KEY_HEAD, ...keys.map((key) => keyRow(key, roles))]
        }
        return { document, table }
      },
    },
  }),
  create: operation({
    id: 'keys.create',
    method: 'POST',
    path: '/api/keys',
    scope: 'manage',
    tag: 'keys',
    summary: 'Creates an API key for your tenant; its secret is shown only once',
    description:
      'The first key of a server must be an admin key without limits. It also gets the scope `installation`.',
    body: given<NewKey>(NEW_KEY),
    local: { id: TEXT, all_tenants: { type: 'boolean' } },
    answer: object({ key: { type: 'string', examples: ['ty_…'] }, ...KEY }, 'The key'),
    status: 201,
    needs: 'store',
    async check(host, { all_tenants = false, ...asked }) {
      scopesOf(asked, all_tenants, await rolesIn(host))
      expiryOf(asked.expires_at, host.clock.wall())
    },
    async run(host, { id = randomUUID(), all_tenants = false, ...asked }, call) {
      const { access, callers, clock, storage } = host
      const { caller, by, tenant = LOCAL_TENANT, keyless, goOnAs } = call
      await checkRights(host, caller, asked)
      const isFirst = caller === LOCAL_CALLER && keyless !== 'always'
      if (isFirst) requireAllRights(asked)
      const { name, role, tools, models, calls_per_minute, budget, expires_at } = asked
      const key = newApiKey()
      const stored: StoredKey = {
        ...{ id, hash: hashApiKey(key), tenant, name, role },
        scopes: isFirst ? [...ADMIN_SCOPES, 'installation'] : scopesOf(asked, all_tenants, await rolesIn(host)),
        tools: tools === undefined ? null : [...new Set(tools)],
        models: models === undefined ? null : [...new Set(models)],
        calls_per_minute: calls_per_minute ?? null,
        budget: budget ?? null,
        created_at: wallTime(host),
        expires_at: expiryOf(expires_at, clock.wall()),
        revoked_at: null,
        created_by: caller === undefined || caller === LOCAL_CALLER ? null : caller.id,
      }
      // Keys that were revoked lately count as well, so that creating and revoking them does not add up.
      const rule = isFirst ? 'first' : { max: MAX_KEYS, since: wallTime(host, DAY_MS) }
      const isCreated = await access.createKey(stored, by, rule)
      await callers?.load(storage.keys)
      if (!isCreated && isFirst) throw new OperationError('unauthorized', ...NO_KEY)
      if (!isCreated) {
        const fix = "those that were revoked within a day count. Revoke keys that you don't need, and try again later"
        throw new OperationError('too_many', `A tenant may have ${MAX_KEYS} keys`, fix)
      }
      if (hasEnded(host, call)) {
        await access.revokeKey(id, wallTime(host), by)
        await callers?.load(storage.keys)
        throw ended()
      }
      if (isFirst) await goOnAs?.(id)
      return { key, ...shown(stored, call) }
    },
    cli: {
      command: 'keys create',
      description: 'Create a key and print it once',
      options: {
        tenant: { flags: '--tenant <id>', description: 'the tenant that the key belongs to (default local)' },
        name: NAME_OPTION,
        role: { flags: '--role <role>', description: ROLE_WORDS, default: 'user' },
        scopes: { flags: '--scope <scopes...>', description: 'only these scopes of the role', choices: GRANTED },
        all_tenants: ALL_TENANTS,
        tools: {
          ...{ flags: '--tools <patterns...>', description: 'only these tools; * stands for any characters' },
          takes: TAKES_PATTERNS,
        },
        models: {
          ...{ flags: '--models <patterns...>', description: 'only these models, such as openai:gpt-4o or mini:*' },
          takes: TAKES_PATTERNS,
        },
        calls_per_minute: {
          ...{ flags: '--calls-per-minute <n>', description: 'rate limit (default: the one in the configuration)' },
        },
        budget: {
          flags: '--budget <amount>',
          description: 'what it may spend, such as 10/month or 0.5/day:warn (default: no limit)',
        },
        expires_at: {
          ...{ flags: '--expires <when>', description: 'such as 90d, 12h, 30m or 2030-01-31 (default: never)' },
        },
      },
      read(typed) {
        const id = randomUUID()
        const words = { budget: [undefined, readBudget], expires_at: [undefined, readExpiry] } as const
        return { id, name: `key-${id.slice(0, 8)}`, ...readTyped(typed, words) }
      },
      show({ key, ...made }): Shown {
        const { id, name, tenant, role, expires_at } = made
        const until = expires_at === null ? '' : `, valid until ${expires_at}`
        const { revoked_at: _, ...document } = plain(made)
        return {
          document: { key, ...document },
          result: [key],
          notes: [
            `Created key '${name}' for tenant '${tenant}', role ${role}${until}. Its id is ${id}.`,
            'The key is not shown again: store it with your other secrets.',
          ],
        }
      },
    },
  }),
  change: operation({
    id: 'keys.change',
    method: 'PATCH',
    path: '/api/keys/:id',
    scope: 'manage',
    tag: 'keys',
    summary: 'Changes the name and the rights of an API key of your tenant',
    description:
      'Fields that are absent stay as they are; `null` restores the default. The key can then do no more than your own.',
    params: ID,
    body: given<KeyChanges>(KEY_CHANGES),
    local: { all_tenants: { type: 'boolean' } },
    answer: object(KEY, 'The changed key'),
    needs: 'store',
    async run(host, { id, all_tenants, ...changes }, call) {
      const { access, callers, storage } = host
      const old = await keyOf(host, id, call)
      if (old.revoked_at !== null) throw new OperationError('conflict', `Key '${id}' is revoked`, 'create a new key')
      const { role = old.role, scopes, expires_at } = changes
      const changed: StoredKey = { ...old, ...(changes as Partial<StoredKey>) }
      const after: StoredKey = {
        ...changed,
        ...(expires_at && { expires_at: expiryOf(expires_at, host.clock.wall()) }),
        scopes: changedScopes(old, { role: role ?? old.role, scopes, all_tenants }, await rolesIn(host), call.caller),
      }
      await checkRights(host, call.caller, rightsOf(after))
      if (!(await access.changeKey(old, after, call.by))) throw changedMeanwhile(id, 'change')
      await callers?.load(storage.keys)
      if (hasEnded(host, call)) {
        await access.changeKey(after, old, call.by)
        await callers?.load(storage.keys)
        throw ended()
      }
      return shown(after, call, callers?.lastUses().get(id))
    },
    cli: {
      command: 'keys edit',
      description: 'Change the name and the rights of a key',
      arguments: ID_ARGUMENT,
      options: {
        name: NAME_OPTION,
        role: { flags: '--role <role>', description: ROLE_WORDS },
        scopes: {
          ...{ flags: '--scope <scopes...>', description: 'only these scopes of the role, or all' },
          choices: [...GRANTED, ALL],
        },
        all_tenants: ALL_TENANTS,
        no_all_tenants: { flags: '--no-all-tenants', description: 'may not read the records of other tenants' },
        tools: {
          ...{ flags: '--tools <patterns...>', description: 'only these tools; "*": all', takes: TAKES_PATTERNS },
        },
        models: {
          ...{ flags: '--models <patterns...>', description: 'only these models; "*": all', takes: TAKES_PATTERNS },
        },
        calls_per_minute: {
          flags: '--calls-per-minute <n>',
          description: 'rate limit; "default": the one in the configuration',
        },
        budget: {
          ...{ flags: '--budget <amount>', description: 'what it may spend, such as 10/month; "none": no limit' },
        },
        expires_at: { flags: '--expires <when>', description: 'such as 90d or 2030-01-31; "never"' },
      },
      // Both options of all tenants set the same value.
      read: ({ no_all_tenants: _, ...typed }) =>
        readTyped(typed, {
          ...{ scopes: [ALL], tools: ['*'], models: ['*'], calls_per_minute: ['default'] },
          ...{ budget: ['none', readBudget], expires_at: ['never', readExpiry] },
        }),
      ...OF_KEYS,
      show: (key, _input, { currentConfig }): Shown => ({
        document: plain(key),
        table: async () => [KEY_HEAD, keyRow(key, rolesOf(await currentConfig()))],
      }),
    },
  }),
  revoke: operation({
    id: 'keys.revoke',
    method: 'DELETE',
    path: '/api/keys/:id',
    scope: 'manage',
    tag: 'keys',
    summary: 'Revokes an API key of your tenant',
    params: ID,
    answer: { description: 'Revoked', type: 'null' },
    status: 204,
    needs: 'store',
    run: (host, { id }, call) => revokeKey(host, id, call),
  }),
  restore: operation({
    id: 'keys.restore',
    method: 'POST',
    path: '/api/keys/:id/restore',
    scope: 'manage',
    tag: 'keys',
    summary: 'Makes an API key valid again that was revoked less than 5 minutes ago',
    params: ID,
    answer: object(KEY, 'The key'),
    needs: 'store',
    async run(host, { id }, call) {
      const { access, callers, storage } = host
      const { caller, by } = call
      const key = await keyOf(host, id, call)
      await checkRights(host, caller, rightsOf(key))
      // A key that is revoked while it asks must not restore itself.
      if (id === caller?.id || !(await access.restoreKey(key, wallTime(host, RESTORE_MS), by))) {
        const message = `Key '${id}' was not revoked within the last 5 minutes`
        throw new OperationError('conflict', message, 'create a new key')
      }
      await callers?.load(storage.keys)
      if (hasEnded(host, call)) {
        await access.revokeKey(id, wallTime(host), by)
        throw ended()
      }
      return shown({ ...key, revoked_at: null }, call)
    },
    cli: {
      command: 'keys restore',
      description: 'Make a key valid again that was revoked less than 5 minutes ago',
      arguments: ID_ARGUMENT,
      ...OF_KEYS,
      show: ({ id }): Shown => ({ document: { id, restored: true }, result: [`Restored ${id}`] }),
    },
  }),
  rotate: operation({
    id: 'keys.rotate',
    method: 'POST',
    path: '/api/keys/:id/rotate',
    scope: 'manage',
    tag: 'keys',
    summary: 'Gives an API key of your tenant another secret, which is shown only once',
    description:
      'The key keeps its id, rights, limits and budget. Sessions of the key end. Of its former secrets, only the last one is accepted.',
    params: ID,
    body: {
      grace_minutes: {
        type: 'integer',
        minimum: 0,
        maximum: MAX_GRACE_MINUTES,
        default: 0,
        description: 'How long the former secret is accepted.',
      },
    },
    answer: object({ key: TEXT, former_until: TIME_OR_NULL, ...KEY }, 'The key'),
    needs: 'store',
    async run(host, { id, grace_minutes }, call) {
      const { caller, by, goOnAs } = call
      const key = await keyOf(host, id, call)
      // The caller gets the secret, and with it all that the key may do.
      await checkRights(host, caller, rightsOf(key))
      const now = host.clock.wall()
      if (key.revoked_at !== null || (key.expires_at !== null && Date.parse(key.expires_at) <= now)) {
        throw new OperationError('conflict', `Key '${id}' is revoked or has expired`, 'create a new key')
      }
      const until = new Date(now + grace_minutes * MINUTE_MS).toISOString()
      const secret = newApiKey()
      if (!(await host.access.rotateKey(key, hashApiKey(secret), until, by))) throw changedMeanwhile(id, 'rotate')
      await host.callers?.load(host.storage.keys)
      if (hasEnded(host, call)) throw ended()
      if (id === caller?.id) await goOnAs?.(id)
      return { key: secret, former_until: grace_minutes === 0 ? null : until, ...shown(key, call) }
    },
    cli: {
      command: 'keys rotate',
      description: 'Give a key another secret and print it once',
      arguments: ID_ARGUMENT,
      options: {
        grace_minutes: {
          flags: '--grace <time>',
          description: 'how long the former secret is accepted, such as 30m or 2h, at most 24h',
          default: '0m',
        },
      },
      read: (typed) => readTyped(typed, { grace_minutes: [undefined, readGrace] }),
      ...OF_KEYS,
      show({ key, id, former_until }): Shown {
        const former = former_until === null ? 'is refused from now on' : `is accepted until ${former_until}`
        return {
          document: { key, id, former_until },
          result: [key],
          notes: [`This is shown only once. The former secret ${former}.`],
        }
      },
    },
  }),
}

/** API keys. */
export const keys = {
  operations,
  help: `
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
  $ toolyard keys revoke user:acme/ada`,
}
