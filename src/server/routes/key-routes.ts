import type { FastifyInstance } from 'fastify'
import { SCOPES } from '../../app/callers/callers.ts'
import {
  isFlagName,
  type ListedTenant,
  listTenants,
  MAX_FLAG_LENGTH,
  storedFlags,
  TENANT_NAME,
} from '../../app/callers/tenants.ts'
import { SCOPE_WORDS } from '../../config/roles.ts'
import { HttpProblem } from '../http/problem.ts'
import { COUNT, exactly, list, object, pathParameter, route, TEXT } from '../http/route.ts'
import type { RolesView } from '../http/views.ts'

interface FlagChanges {
  readonly flags: Readonly<Record<string, boolean | null>>
}

const FLAGS = { type: 'object', additionalProperties: { type: 'boolean' } }
const TENANT = {
  id: { type: 'string', examples: ['acme'] },
  flags: { ...FLAGS, description: 'The flags in effect: stored flags override configured ones.' },
  configured: { ...FLAGS, description: 'Flags under tenants in the configuration.' },
  stored: FLAGS,
  keys: { ...COUNT, description: 'The number of valid keys.' },
}
const ID = pathParameter('id', 64)
const LIST = { type: 'array', items: TEXT }

/** Roles, and tenants with their flags. */
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
    route('read', 'keys', 'Lists the roles of API keys, and what each scope allows', {
      response: {
        200: object(
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
      },
    }),
    (): RolesView => ({
      roles: Array.from(installation.callers.roles, ([name, role]) => ({ name, ...role })),
      scopes: SCOPES.map((name) => ({ name, allows: SCOPE_WORDS[name] })),
    }),
  )

  app.get(
    '/api/tenants',
    route('manage', 'keys', 'Returns your tenant and its flags', {
      description: "With the scope 'installation': every tenant that has flags or keys.",
      response: { 200: object({ tenants: list(TENANT) }, 'The tenants') },
    }),
    async ({ caller: { tenant, scopes } }) => ({
      tenants: scopes.has('installation') ? await listed() : [await one(tenant)],
    }),
  )

  app.patch<{ Params: { id: string }; Body: FlagChanges }>(
    '/api/tenants/:id',
    route('manage', 'keys', 'Stores flags of a tenant, which override the configuration; null removes a stored flag', {
      description: "Needs the scope 'installation', because flags decide what a tenant may use.",
      params: ID,
      body: {
        ...exactly({
          flags: { type: 'object', maxProperties: 100, additionalProperties: { type: ['boolean', 'null'] } },
        }),
        required: ['flags'],
      },
      response: { 200: object(TENANT, 'The changed tenant') },
    }),
    async ({ caller, params: { id }, body: { flags } }) => {
      if (!caller.scopes.has('installation')) {
        installation.events.crossed(caller, 'flags', id)
        throw new HttpProblem(403, "Only a key with the scope 'installation' may change what a tenant may use")
      }
      if (!TENANT_NAME.test(id)) throw new HttpProblem(400, `Invalid tenant name '${id}'`, NAMES)
      const odd = Object.keys(flags).find((flag) => !isFlagName(flag))
      if (odd !== undefined) throw new HttpProblem(400, `Invalid flag name '${odd.slice(0, MAX_FLAG_LENGTH)}'`, A_FLAG)
      await installation.access.changeFlags(id, new Map(Object.entries(flags)), caller)
      await installation.tenants.load(settings)
      return one(id)
    },
  )
}

const NAMES = 'use up to 64 letters, digits, dots, dashes and underscores'
const A_FLAG = `a flag is the name of a permission or a tool, up to ${MAX_FLAG_LENGTH} characters`
