import {
  isFlagName,
  type ListedTenant,
  listTenants,
  MAX_FLAG_LENGTH,
  storedFlags,
  TENANT_NAME,
} from '../app/callers/tenants.ts'
import { type Role, rolesOf, SCOPE_WORDS, SCOPES, type Scope } from '../config/roles.ts'
import { OperationError } from '../core/operation/operation-error.ts'
import { COUNT, inPath, list, object, operation, type Shown, type StoreHost, TEXT } from './operation.ts'

export interface RolesView {
  readonly roles: readonly ({ readonly name: string } & Role)[]
  readonly scopes: readonly { readonly name: Scope; readonly allows: string }[]
}

const FLAGS = { type: 'object', additionalProperties: { type: 'boolean' } }
const TENANT = {
  id: { type: 'string', examples: ['acme'] },
  flags: { ...FLAGS, description: 'The flags in effect: stored flags override configured ones.' },
  configured: { ...FLAGS, description: 'Flags under tenants in the configuration.' },
  stored: FLAGS,
  keys: { ...COUNT, description: 'The number of valid keys.' },
}
const LIST = { type: 'array', items: TEXT }
const ID = { id: inPath(64) }

async function listed(host: StoreHost): Promise<ListedTenant[]> {
  const { settings, keys } = host.storage
  const [config, stored, all] = await Promise.all([host.currentConfig(), storedFlags(settings), keys.list()])
  return listTenants(config, stored, all)
}

const one = async (host: StoreHost, id: string): Promise<ListedTenant> =>
  (await listed(host)).find((tenant) => tenant.id === id) ?? { id, flags: {}, configured: {}, stored: {}, keys: 0 }

function checkTenant(id: string): void {
  const fix = 'use up to 64 letters, digits, dots, dashes and underscores'
  if (!TENANT_NAME.test(id)) throw new OperationError('invalid', `Invalid tenant name '${id}'`, fix)
}

const noFlags = (id: string): OperationError =>
  new OperationError('not_found', `Tenant '${id}' has no stored flags`, 'see "toolyard tenants list"')

/** Reads `name=true`, and the names of flags to remove. */
function readFlags(set: readonly string[], removed: readonly string[]): Readonly<Record<string, boolean | null>> {
  const flags = set.map((word) => {
    const [, name, value] = /^(.*)=(true|false)$/s.exec(word) ?? []
    if (name !== undefined) return [name, value === 'true'] as const
    throw new OperationError('invalid', `Set a flag with name=true or name=false, not '${word}'`)
  })
  if (flags.length + removed.length === 0) {
    throw new OperationError('invalid', 'Name the flags to set, such as search=true, or --unset search')
  }
  const both = flags.find(([name]) => removed.includes(name))?.[0]
  if (both !== undefined) throw new OperationError('invalid', `The flag '${both}' cannot be both set and unset`)
  return Object.fromEntries([...flags, ...removed.map((name) => [name, null] as const)])
}

const flagWords = (flags: ListedTenant['flags']): string =>
  Object.entries(flags)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')

const operations = {
  roles: operation({
    id: 'tenants.roles',
    method: 'GET',
    path: '/api/roles',
    scope: 'read',
    tag: 'keys',
    summary: 'Lists the roles of API keys, and what each scope allows',
    answer: object(
      {
        roles: list({
          name: TEXT,
          scopes: { type: 'array', items: { enum: SCOPES } },
          tools: { ...LIST, description: 'Patterns of its tools. Absent: all of the tenant.' },
          models: { ...LIST, description: 'Patterns of its models. Absent: all that are configured.' },
        }),
        scopes: list({ name: { enum: SCOPES }, allows: TEXT }),
      },
      'The roles',
    ),
    needs: 'store',
    run: async (host): Promise<RolesView> => ({
      roles: Array.from(rolesOf(await host.currentConfig()), ([name, role]) => ({ name, ...role })),
      scopes: SCOPES.map((name) => ({ name, allows: SCOPE_WORDS[name] })),
    }),
  }),
  list: operation({
    id: 'tenants.list',
    method: 'GET',
    path: '/api/tenants',
    scope: 'manage',
    tag: 'keys',
    summary: 'Returns your tenant and its flags',
    description: "With the scope 'installation': every tenant that has flags or keys.",
    answer: object({ tenants: list(TENANT) }, 'The tenants'),
    needs: 'store',
    async run(host, _input, { caller }) {
      const isOwn = caller !== undefined && !caller.scopes.has('installation')
      return { tenants: isOwn ? [await one(host, caller.tenant)] : await listed(host) }
    },
    cli: {
      command: 'tenants list',
      description: 'List the tenants and their flags',
      nothing: (config) => ({ tenants: listTenants(config, new Map(), []) }),
      show({ tenants }): Shown {
        if (tenants.length === 0) return { notes: ['No tenant has flags or keys yet.'] }
        const rows = tenants.map(({ id, keys, configured, stored }) => {
          return [id, String(keys), flagWords(configured), flagWords(stored)]
        })
        const table = [['TENANT', 'KEYS', 'CONFIGURED', 'STORED'], ...rows]
        return { table, notes: ['Stored flags override configured ones.'] }
      },
    },
  }),
  change: operation({
    id: 'tenants.change',
    method: 'PATCH',
    path: '/api/tenants/:id',
    scope: 'manage',
    tag: 'keys',
    summary: 'Stores flags of a tenant, which override the configuration; null removes a stored flag',
    description: "Needs the scope 'installation', because flags decide what a tenant may use.",
    params: ID,
    body: {
      flags: { type: 'object', maxProperties: 100, additionalProperties: { type: ['boolean', 'null'] } },
    },
    required: ['flags'],
    answer: object(TENANT, 'The changed tenant'),
    needs: 'store',
    check(_host, { id, flags }) {
      checkTenant(id)
      const odd = Object.keys(flags).find((flag) => !isFlagName(flag))
      if (odd === undefined) return
      const fix = `a flag is the name of a permission or a tool, up to ${MAX_FLAG_LENGTH} characters`
      throw new OperationError('invalid', `Invalid flag name '${odd.slice(0, MAX_FLAG_LENGTH)}'`, fix)
    },
    async run(host, { id, flags }, { caller, by }) {
      if (caller?.scopes.has('installation') === false) {
        host.events.crossed(caller, 'flags', id)
        const message = "Only a key with the scope 'installation' may change what a tenant may use"
        throw new OperationError('forbidden', message)
      }
      await host.access.changeFlags(id, new Map(Object.entries(flags)), by)
      await host.tenants?.load(host.storage.settings)
      return one(host, id)
    },
    cli: {
      command: 'tenants set',
      description: 'Store flags for a tenant',
      arguments: { id: 'the tenant', flags: { list: 'name=true or name=false' } },
      options: { removed: { flags: '--unset <flags...>', description: 'remove these stored flags' } },
      creates: true,
      read: ({ id, flags = [], removed = [] }) => {
        return { id, flags: readFlags(flags as readonly string[], removed as readonly string[]) }
      },
      show: ({ id, stored }): Shown => ({
        document: { id, stored },
        result: [`${id}  ${flagWords(stored) || 'no stored flags'}`],
      }),
    },
  }),
  remove: operation({
    id: 'tenants.remove',
    scope: 'manage',
    tag: 'keys',
    summary: 'Removes all stored flags of a tenant',
    params: ID,
    answer: object({ keys: TENANT.keys }, 'The flags are removed'),
    needs: 'store',
    check: (_host, { id }) => checkTenant(id),
    async run({ access, storage }, { id }, { by }) {
      if (!(await access.removeFlags(id, by))) throw noFlags(id)
      const valid = (await storage.keys.list()).filter((key) => key.tenant === id && key.revoked_at === null)
      return { keys: valid.length }
    },
    cli: {
      command: 'tenants remove',
      description: 'Remove all stored flags of a tenant',
      arguments: { id: 'the tenant' },
      nothing: (_config, { id }) => {
        throw noFlags(id)
      },
      show: ({ keys }, { id }): Shown => ({
        document: { id, removed: true, keys },
        result: [`Removed the stored flags of ${id}`],
        notes: keys > 0 ? [`Its keys (${keys}) stay valid: revoke them with "toolyard keys revoke".`] : [],
      }),
    },
  }),
}

/** Tenants and their flags, and roles. */
export const tenants = {
  operations,
  help: `
A flag is the name of a permission or a tool: true allows, false forbids. Stored flags override those in the
configuration. A running server applies changes within a second.

Examples:
  $ toolyard tenants list
  $ toolyard tenants set acme search=true delete_document=false
  $ toolyard tenants set acme --unset search`,
}
