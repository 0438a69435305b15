import type { FastifyInstance } from 'fastify'
import type { ListedTenant } from '../../config/callers/listed-tenant.ts'
import { ROLES, SCOPE_WORDS, SCOPES } from '../../config/callers/scopes.ts'
import {
  changeFlags,
  isFlagName,
  LONGEST_FLAG,
  listTenants,
  storedFlags,
  TENANT_NAME,
} from '../../config/callers/tenant-flags.ts'
import type { Role } from '../../core/storage/key-store.ts'
import { HttpProblem } from '../http-problem.ts'
import type { Service } from '../service.ts'
import type { RolesView } from './roles-view.ts'

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
export function tenantRoutes(app: FastifyInstance, { installation }: Service): void {
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
      if (!TENANT_NAME.test(id)) throw new HttpProblem(400, `There can be no tenant '${id}'`, NAMES)
      const odd = Object.keys(flags).find((flag) => !isFlagName(flag))
      if (odd !== undefined) throw new HttpProblem(400, `There can be no flag '${odd.slice(0, LONGEST_FLAG)}'`, A_FLAG)
      await changeFlags(settings, id, new Map(Object.entries(flags)))
      await installation.tenants.load(settings)
      return one(id)
    },
  )
}

const list = (properties: object) => ({ type: 'array', items: { type: 'object', properties } })
const NAMES = 'a name has up to 64 letters, digits, dots, dashes and underscores'
const A_FLAG = `it is the name of a permission or of a tool, of up to ${LONGEST_FLAG} characters`
