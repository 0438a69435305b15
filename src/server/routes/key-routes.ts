import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { hashApiKey, newApiKey } from '../../config/callers/api-key.ts'
import type { Caller } from '../../config/callers/caller.ts'
import type { ListedTenant } from '../../config/callers/listed-tenant.ts'
import { ROLES, SCOPE_WORDS, SCOPES, type Scope } from '../../config/callers/scopes.ts'
import {
  changeFlags,
  isFlagName,
  LONGEST_FLAG,
  listTenants,
  storedFlags,
  TENANT_NAME,
} from '../../config/callers/tenant-flags.ts'
import type { Role, StoredKey } from '../../core/storage/key-store.ts'
import { HttpProblem } from '../http/problem.ts'
import type { RolesView, ShownKey } from '../http/views.ts'

interface FlagChanges {
  readonly flags: Readonly<Record<string, boolean | null>>
}

const FLAGS = { type: 'object', additionalProperties: { type: 'boolean' } }
const TENANT = {
  type: 'object',
  properties: {
    id: { type: 'string', examples: ['acme'] },
    flags: { ...FLAGS, description: 'What holds: what is stored goes before what is configured.' },
    configured: { ...FLAGS, description: 'Under tenants in the configuration.' },
    stored: FLAGS,
    keys: { type: 'integer', description: 'How many are valid.' },
  },
}

/** Tenants with their flags, and what the roles of keys are. */
export function tenantRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { settings, keys } = installation.storage
  const listed = async (): Promise<ListedTenant[]> => {
    const [stored, all] = await Promise.all([storedFlags(settings), keys.list()])
    return listTenants(installation.config, stored, all)
  }
  const one = async (id: string): Promise<ListedTenant> =>
    (await listed()).find((tenant) => tenant.id === id) ?? { id, flags: {}, configured: {}, stored: {}, keys: 0 }

  app.get(
    '/api/roles',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'The roles of keys, and what each scope allows',
        tags: ['keys'],
        response: {
          200: {
            description: 'The roles',
            type: 'object',
            properties: {
              roles: list({ name: { type: 'string' }, scopes: { type: 'array', items: { enum: SCOPES } } }),
              scopes: list({ name: { enum: SCOPES }, allows: { type: 'string' } }),
            },
          },
        },
      },
    },
    (): RolesView => ({
      roles: Object.entries(ROLES).map(([name, scopes]) => ({ name: name as Role, scopes })),
      scopes: SCOPES.map((name) => ({ name, allows: SCOPE_WORDS[name] })),
    }),
  )

  app.get(
    '/api/tenants',
    {
      config: { scope: 'manage' },
      schema: {
        summary: 'Your tenant and its flags',
        description: "With the scope 'installation' every tenant that has flags or keys.",
        tags: ['keys'],
        response: {
          200: {
            description: 'The tenants',
            type: 'object',
            properties: { tenants: { type: 'array', items: TENANT } },
          },
        },
      },
    },
    async ({ caller: { tenant, scopes } }) => ({
      tenants: scopes.has('installation') ? await listed() : [await one(tenant)],
    }),
  )

  app.patch<{ Params: { id: string }; Body: FlagChanges }>(
    '/api/tenants/:id',
    {
      config: { scope: 'manage' },
      schema: {
        summary: 'Stores flags of a tenant over those of the configuration; null forgets one',
        description: "Only with the scope 'installation': flags say what a tenant may use.",
        tags: ['keys'],
        params: { type: 'object', properties: { id: { type: 'string', maxLength: 64 } } },
        body: {
          type: 'object',
          required: ['flags'],
          additionalProperties: false,
          properties: {
            flags: { type: 'object', maxProperties: 100, additionalProperties: { type: ['boolean', 'null'] } },
          },
        },
        response: { 200: { description: 'The tenant as it is now', ...TENANT } },
      },
    },
    async ({ caller, params: { id }, body: { flags } }) => {
      if (!caller.scopes.has('installation')) {
        throw new HttpProblem(403, "Only a key with the scope 'installation' may change what a tenant may use")
      }
      if (!TENANT_NAME.test(id)) throw new HttpProblem(400, `Invalid tenant name '${id}'`, NAMES)
      const odd = Object.keys(flags).find((flag) => !isFlagName(flag))
      if (odd !== undefined) throw new HttpProblem(400, `Invalid flag name '${odd.slice(0, LONGEST_FLAG)}'`, A_FLAG)
      await changeFlags(settings, id, new Map(Object.entries(flags)))
      await installation.tenants.load(settings)
      return one(id)
    },
  )
}

const list = (properties: object) => ({ type: 'array', items: { type: 'object', properties } })
const NAMES = 'a name has up to 64 letters, digits, dots, dashes and underscores'
const A_FLAG = `it is the name of a permission or of a tool, of up to ${LONGEST_FLAG} characters`

interface NewKeyBody {
  readonly name: string
  readonly role: Role
  readonly scopes?: readonly Scope[]
  readonly calls_per_minute?: number
  readonly expires_at?: string
}

const TIME = { type: ['string', 'null'], format: 'date-time' }
const KEY = {
  id: { type: 'string' },
  name: { type: 'string', examples: ['ci'] },
  role: { enum: Object.keys(ROLES) },
  scopes: { type: ['array', 'null'], items: { type: 'string' }, description: 'Where they are less than the role has.' },
  calls_per_minute: { type: ['integer', 'null'] },
  created_at: TIME,
  expires_at: TIME,
  revoked_at: TIME,
  last_used_at: { ...TIME, description: 'As far as this server knows: since its start.' },
}
const NEW_KEY = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 100, pattern: '^[^\\u0000-\\u001f\\u007f]+$', examples: ['ci'] },
    role: { enum: Object.keys(ROLES), default: 'user' },
    scopes: { type: 'array', maxItems: SCOPES.length, items: { enum: SCOPES.filter((one) => one !== 'installation') } },
    calls_per_minute: { type: 'integer', minimum: 1, maximum: 10_000_000 },
    expires_at: { type: 'string', format: 'date-time' },
  },
}

/** The keys of the caller's own tenant. */
export function keyRoutes(app: FastifyInstance): void {
  const { installation } = app
  const { keys } = installation.storage
  const now = (): string => new Date(installation.clock.wall()).toISOString()

  app.get(
    '/api/keys',
    {
      config: { scope: 'manage' },
      schema: {
        summary: 'The API keys of your tenant; never the keys themselves',
        tags: ['keys'],
        response: {
          200: {
            description: 'The keys, revoked ones too',
            type: 'object',
            properties: { keys: { type: 'array', items: { type: 'object', properties: KEY } } },
          },
        },
      },
    },
    async ({ caller }) => {
      const used = installation.callers.lastUses()
      const own = (await keys.list()).filter(({ tenant }) => tenant === caller.tenant)
      return { keys: own.map((key) => shown(key, used.get(key.id))) }
    },
  )

  app.post<{ Body: NewKeyBody }>(
    '/api/keys',
    {
      config: { scope: 'manage' },
      schema: {
        summary: 'Makes a key for your tenant; its text is shown this once',
        tags: ['keys'],
        body: NEW_KEY,
        response: {
          201: {
            description: 'The key',
            type: 'object',
            properties: { key: { type: 'string', examples: ['ty_…'] }, ...KEY },
          },
        },
      },
    },
    async ({ caller, body }, reply) => {
      const { name, role, scopes, calls_per_minute, expires_at } = body
      checkRights(caller, role, scopes)
      const key = newApiKey()
      const stored: StoredKey = {
        id: randomUUID(),
        hash: hashApiKey(key),
        tenant: caller.tenant,
        name,
        role,
        scopes: scopes ?? null,
        calls_per_minute: calls_per_minute ?? null,
        created_at: now(),
        expires_at: expires_at === undefined ? null : new Date(expires_at).toISOString(),
        revoked_at: null,
      }
      await keys.create(stored)
      await installation.callers.load(keys)
      return reply.code(201).send({ key, ...shown(stored) })
    },
  )

  app.delete<{ Params: { id: string } }>(
    '/api/keys/:id',
    {
      config: { scope: 'manage' },
      schema: {
        summary: 'Revokes a key of your tenant',
        tags: ['keys'],
        params: { type: 'object', properties: { id: { type: 'string', maxLength: 64 } } },
        response: { 204: { description: 'It is revoked', type: 'null' } },
      },
    },
    async ({ caller, params: { id } }, reply) => {
      const known = (await keys.list()).some((key) => key.id === id && key.tenant === caller.tenant)
      if (!known) throw new HttpProblem(404, `Key '${id}' not found`)
      await keys.revoke(id, now())
      await installation.callers.load(keys)
      return reply.code(204).send()
    },
  )
}

/** Nobody gives away more than it has. */
function checkRights(caller: Caller, role: Role, scopes: readonly Scope[] | undefined): void {
  const given = ROLES[role].filter((scope) => scopes === undefined || scopes.includes(scope))
  const missing = given.filter((scope) => !caller.scopes.has(scope))
  if (missing.length === 0) return
  throw new HttpProblem(403, 'A key cannot grant scopes that it does not have', `your key lacks ${missing.join(', ')}`)
}

const shown = ({ hash: _hash, tenant: _tenant, ...key }: StoredKey, usedAt?: number): ShownKey => ({
  ...key,
  last_used_at: usedAt === undefined ? null : new Date(usedAt).toISOString(),
})
