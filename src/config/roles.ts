import type { Described } from '../core/json/described.ts'
import { suggest } from '../core/suggest.ts'
import { ROLE_NAME } from '../core/tool.ts'

/** The rights of a caller. No built-in role includes `act_as` and `installation`, the right to see all tenants. */
export const SCOPES = [
  ...(['read', 'call', 'chat', 'observe', 'validate', 'approve', 'manage', 'act_as', 'installation'] as const),
] as const
export type Scope = (typeof SCOPES)[number]

/** What each scope allows, for people. */
export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  read: 'lists of tools and models',
  call: 'calling tools, jobs, MCP',
  chat: 'asking models',
  observe: 'audit log, runs, metrics and limits of the tenant',
  validate: 'recording tests of models, running suites',
  approve: 'approving and rejecting calls',
  manage: 'the keys of the tenant',
  act_as: 'calling tools for users of the tenant, named in the header Toolyard-User',
  installation:
    'audit logs, runs, metrics and reports of all tenants, MCP servers, packages and rollouts; with manage, also the flags of all tenants',
}

/** A pattern for tools or models: `*` stands for any characters. */
export const KEY_PATTERN = /^[^\s\p{Cc}]{1,200}$/u
export const MAX_KEY_PATTERNS = 100

const patterns = (what: string) =>
  ({
    type: 'array',
    minItems: 1,
    maxItems: MAX_KEY_PATTERNS,
    items: { type: 'string', pattern: KEY_PATTERN.source },
    description: `Patterns of the ${what} that its callers may use; * stands for any characters. Default: all.`,
  }) as const

export const ROLE_SCHEMA = {
  type: 'object',
  required: ['scopes'],
  additionalProperties: false,
  properties: {
    scopes: { type: 'array', uniqueItems: true, items: { enum: SCOPES }, description: 'What its callers may do.' },
    tools: patterns('tools'),
    models: patterns('models'),
  },
} as const

/** What callers of a role may do. */
export interface Role extends Described<typeof ROLE_SCHEMA> {}

export const ROLES_SCHEMA = {
  type: 'object',
  description: 'Roles of keys and users, besides user, operator and admin.',
  propertyNames: { pattern: ROLE_NAME },
  additionalProperties: ROLE_SCHEMA,
} as const

export type Roles = ReadonlyMap<string, Role>

/** The parts of the configuration that define and name roles. */
interface NamingRoles {
  readonly roles?: Readonly<Record<string, Role>>
  readonly tools?: { readonly registry?: readonly unknown[] }
  readonly auth?: { readonly oidc?: { readonly roles: Readonly<Record<string, string>> } }
}

const BUILT_IN = {
  user: { scopes: ['read', 'call', 'chat'] },
  operator: { scopes: ['read', 'call', 'chat', 'observe', 'validate', 'approve'] },
  admin: { scopes: ['read', 'call', 'chat', 'observe', 'validate', 'approve', 'manage'] },
} as const satisfies Record<string, Role>

export const ADMIN_SCOPES = BUILT_IN.admin.scopes

/** The built-in roles and those of the configuration. */
export const rolesOf = ({ roles = {} }: Pick<NamingRoles, 'roles'> = {}): Roles =>
  new Map<string, Role>([...Object.entries(BUILT_IN), ...Object.entries(roles)])

/** Why there is no such role, and what to do. */
export function unknownRole(name: string, roles: Roles): string {
  const known = [...roles.keys()]
  const [near] = suggest(name, known)
  return `Unknown role ${JSON.stringify(name)}. ${near === undefined ? `Use one of ${known.join(', ')}.` : `Did you mean "${near}"?`}`
}

const ROLE = new RegExp(ROLE_NAME)

/** Roles that would replace a built-in one, and names of roles that don't exist. */
export function roleProblems(config: NamingRoles): string[] {
  const roles = rolesOf(config)
  const missing = (place: string, name: string): string[] =>
    roles.has(name) ? [] : [`${place}: ${unknownRole(name, roles)}`]
  const replaced = Object.keys(config.roles ?? {}).filter((name) => Object.hasOwn(BUILT_IN, name))
  return [
    ...Object.entries(config.auth?.oidc?.roles ?? {}).flatMap(([value, name]) =>
      missing(`auth.oidc.roles[${JSON.stringify(value)}]`, name),
    ),
    ...replaced.map((name) => `roles.${name}: "${name}" is a built-in role: choose another name.`),
    ...(config.tools?.registry ?? []).flatMap((entry, index) =>
      decidersOf(entry).flatMap((name) => {
        const place = `tools.registry[${index}].approval.by`
        if (roles.get(name)?.scopes.includes('approve') === false) {
          return [`${place}: the role ${JSON.stringify(name)} lacks the scope "approve".`]
        }
        return missing(place, name)
      }),
    ),
  ]
}

/** Anything that isn't the name of a role is a fault of its definition only. */
function decidersOf(definition: unknown): readonly string[] {
  const { by } = Object(Object(definition).approval) as { readonly by?: unknown }
  return Array.isArray(by) ? by.filter((name) => typeof name === 'string' && ROLE.test(name)) : []
}
