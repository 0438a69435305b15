import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { type Caller, hashApiKey, LOCAL_CALLER, newApiKey, SCOPES, type Scope } from '../../app/callers/callers.ts'
import {
  isFlagName,
  type ListedTenant,
  listTenants,
  MAX_FLAG_LENGTH,
  storedFlags,
  TENANT_NAME,
} from '../../app/callers/tenants.ts'
import type { Installation } from '../../app/installation.ts'
import { ADMIN_SCOPES, KEY_PATTERN, MAX_KEY_PATTERNS, SCOPE_WORDS, unknownRole } from '../../config/roles.ts'
import { BUDGET_PROPERTIES } from '../../core/costs.ts'
import { matchesGlobs, shownGlobs } from '../../core/execution/permit.ts'
import type { KeyBudget, StoredKey } from '../../core/storage/key-store.ts'
import { keyEnded, keyNeeded } from '../http/authenticator.ts'
import { found, HttpProblem } from '../http/problem.ts'
import { COUNT, exactly, list, object, pathParameter, route, TEXT, TIME_OR_NULL } from '../http/route.ts'
import type { RolesView, ShownKey } from '../http/views.ts'

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

interface KeyRights {
  readonly role: string
  readonly scopes?: readonly Scope[]
  readonly tools?: readonly string[]
  readonly models?: readonly string[]
  readonly calls_per_minute?: number
  readonly budget?: KeyBudget
  readonly expires_at?: string
}

interface NewKeyBody extends KeyRights {
  readonly name: string
}

/** What is absent stays; null is the default. */
type KeyChanges = { readonly [Field in keyof NewKeyBody]?: NewKeyBody[Field] | null }

const KEY = {
  id: { type: 'string' },
  name: { type: 'string', examples: ['ci'] },
  role: { ...TEXT, description: 'As GET /api/roles lists them.', examples: ['operator'] },
  scopes: { type: ['array', 'null'], items: TEXT, description: 'Null: all scopes of the role.' },
  tools: { type: ['array', 'null'], items: TEXT, description: 'Patterns of its tools. Null: all of the tenant.' },
  models: {
    type: ['array', 'null'],
    items: TEXT,
    description: 'Patterns of its models. Null: all that are configured.',
  },
  calls_per_minute: { type: ['integer', 'null'] },
  budget: { type: ['object', 'null'], properties: BUDGET_PROPERTIES, description: 'What the key may spend.' },
  created_at: TIME_OR_NULL,
  expires_at: TIME_OR_NULL,
  revoked_at: TIME_OR_NULL,
  created_by: { type: ['string', 'null'], description: 'The id of the key that created it.' },
  last_used_at: { ...TIME_OR_NULL, description: 'The last use on this server since it started.' },
}
const patterns = (what: string, examples: readonly string[]) => ({
  type: 'array',
  minItems: 1,
  maxItems: MAX_KEY_PATTERNS,
  items: { type: 'string', pattern: KEY_PATTERN.source },
  description: `Patterns of the ${what} that the key may use, in which * stands for any characters. Default: all.`,
  examples: [examples],
})
const NEW_KEY = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 100, pattern: '^[^\\u0000-\\u001f\\u007f]+$', examples: ['ci'] },
    role: {
      type: 'string',
      maxLength: 64,
      default: 'user',
      description: 'As GET /api/roles lists them.',
      examples: ['operator'],
    },
    scopes: { type: 'array', maxItems: SCOPES.length, items: { enum: SCOPES.filter((one) => one !== 'installation') } },
    tools: patterns('tools', ['get_*', 'calculate']),
    models: patterns('models', ['openai:gpt-4o*', 'mini:*']),
    calls_per_minute: { type: 'integer', minimum: 1, maximum: 10_000_000 },
    budget: { ...exactly(BUDGET_PROPERTIES), required: ['per', 'amount'], description: 'What the key may spend.' },
    expires_at: { type: 'string', format: 'date-time' },
  },
}

const orNull = <Schema extends { readonly type: string }>(schema: Schema) => ({ anyOf: [schema, { type: 'null' }] })
const { name: NAME, role, ...LIMITS } = NEW_KEY.properties
const { default: _user, ...ROLE } = role
const KEY_CHANGES = {
  ...exactly({
    name: NAME,
    role: ROLE,
    ...Object.fromEntries(Object.entries(LIMITS).map(([field, schema]) => [field, orNull(schema)])),
  }),
  minProperties: 1,
}

const MAX_GRACE_MINUTES = 24 * 60

/** How long a revoked key can be restored. */
const RESTORE_MS = 5 * 60_000

/** The API keys of the caller's tenant. */
export function keyRoutes(app: FastifyInstance): void {
  const { installation, authenticator } = app
  const { keys } = installation.storage
  const now = (): string => new Date(installation.clock.wall()).toISOString()
  const ownKey = async (caller: Caller, id: string): Promise<StoredKey> => {
    const key = (await keys.list()).find((one) => one.id === id)
    if (key?.tenant !== caller.tenant) installation.events.crossed(caller, `key ${id}`, key?.tenant)
    return found(key?.tenant === caller.tenant ? key : undefined, `Key '${id}'`)
  }

  app.get(
    '/api/keys',
    route('manage', 'keys', 'Lists the API keys of your tenant without their secrets', {
      response: { 200: object({ keys: list(KEY) }, 'The keys, including revoked ones') },
    }),
    async ({ caller }) => {
      const used = installation.callers.lastUses()
      const own = (await keys.list()).filter(({ tenant }) => tenant === caller.tenant)
      return { keys: own.map((key) => shown(key, used.get(key.id))) }
    },
  )

  app.post<{ Body: NewKeyBody }>(
    '/api/keys',
    route('manage', 'keys', 'Creates an API key for your tenant; its secret is shown only once', {
      description:
        'The first key of a server must be an admin key without limits. It also gets the scope `installation`.',
      body: NEW_KEY,
      response: { 201: object({ key: { type: 'string', examples: ['ty_…'] }, ...KEY }, 'The key') },
    }),
    async ({ caller, body, raw }, reply) => {
      const { name, role, scopes, tools, models, calls_per_minute, budget, expires_at } = body
      checkRights(installation, caller, body)
      const first = caller === LOCAL_CALLER && authenticator.untilFirstKey
      if (first) requireAllRights(body)
      const key = newApiKey()
      const stored: StoredKey = {
        id: randomUUID(),
        hash: hashApiKey(key),
        tenant: caller.tenant,
        name,
        role,
        scopes: first ? [...ADMIN_SCOPES, 'installation'] : (scopes ?? null),
        tools: tools ?? null,
        models: models ?? null,
        calls_per_minute: calls_per_minute ?? null,
        budget: budget ?? null,
        created_at: now(),
        expires_at: expires_at === undefined ? null : new Date(expires_at).toISOString(),
        revoked_at: null,
        created_by: caller === LOCAL_CALLER ? null : caller.id,
      }
      const since = new Date(installation.clock.wall() - DAY_MS).toISOString()
      const isCreated = await installation.access.createKey(stored, caller, first ? 'first' : { max: MAX_KEYS, since })
      await installation.callers.load(keys)
      if (!isCreated) throw first ? keyNeeded() : tooManyKeys()
      // The key that made it may have been revoked at the same moment, here and below.
      if (caller !== LOCAL_CALLER && !installation.callers.isValid(caller.id)) {
        await installation.access.revokeKey(stored.id, now(), caller)
        await installation.callers.load(keys)
        throw keyEnded()
      }
      // The browser that made the first key goes on with it. Browsers send the origin with every POST.
      const owner = first && raw.headers.origin !== undefined ? installation.callers.byId(stored.id) : undefined
      if (owner !== undefined) {
        reply.header('set-cookie', await authenticator.sessions.start(owner, raw))
        authenticator.recordSignIn(raw, owner)
      }
      return reply.code(201).send({ key, ...shown(stored) })
    },
  )

  app.patch<{ Params: { id: string }; Body: KeyChanges }>(
    '/api/keys/:id',
    route('manage', 'keys', 'Changes the name and the rights of an API key of your tenant', {
      description:
        'Fields that are absent stay as they are; `null` restores the default. The key can then do no more than your own.',
      params: ID,
      body: KEY_CHANGES,
      response: { 200: object(KEY, 'The changed key') },
    }),
    async ({ caller, params: { id }, body }) => {
      const before = await ownKey(caller, id)
      if (before.revoked_at !== null) throw new HttpProblem(409, `Key '${id}' is revoked`, 'create a new key')
      const expires_at = body.expires_at ? new Date(timeOf(body.expires_at)).toISOString() : body.expires_at
      const after = { ...before, ...body, ...(expires_at !== undefined && { expires_at }) } as StoredKey
      checkRights(installation, caller, rightsOf(after))
      if (!(await installation.access.changeKey(before, after, caller))) {
        throw new HttpProblem(409, `Key '${id}' was changed at the same time`, 'read it again, then change it')
      }
      await installation.callers.load(keys)
      if (caller !== LOCAL_CALLER && !installation.callers.isValid(caller.id)) {
        await installation.access.changeKey(after, before, caller)
        await installation.callers.load(keys)
        throw keyEnded()
      }
      return shown(after, installation.callers.lastUses().get(id))
    },
  )

  app.delete<{ Params: { id: string } }>(
    '/api/keys/:id',
    route('manage', 'keys', 'Revokes an API key of your tenant', {
      params: ID,
      response: { 204: { description: 'Revoked', type: 'null' } },
    }),
    async ({ caller, params: { id } }, reply) => {
      await ownKey(caller, id)
      await installation.access.revokeKey(id, now(), caller)
      await installation.callers.load(keys)
      return reply.code(204).send()
    },
  )

  app.post<{ Params: { id: string } }>(
    '/api/keys/:id/restore',
    route('manage', 'keys', 'Makes an API key valid again that was revoked less than 5 minutes ago', {
      params: ID,
      response: { 200: object(KEY, 'The key') },
    }),
    async ({ caller, params: { id } }) => {
      const key = await ownKey(caller, id)
      checkRights(installation, caller, rightsOf(key))
      const since = new Date(installation.clock.wall() - RESTORE_MS).toISOString()
      // A key that is revoked while it asks must not restore itself.
      if (id === caller.id || !(await installation.access.restoreKey(key, since, caller))) {
        throw new HttpProblem(409, `Key '${id}' was not revoked within the last 5 minutes`, 'create a new key')
      }
      await installation.callers.load(keys)
      if (caller !== LOCAL_CALLER && !installation.callers.isValid(caller.id)) {
        await installation.access.revokeKey(id, now(), caller)
        throw keyEnded()
      }
      return shown({ ...key, revoked_at: null })
    },
  )

  app.post<{ Params: { id: string }; Body: { grace_minutes: number } }>(
    '/api/keys/:id/rotate',
    route('manage', 'keys', 'Gives an API key of your tenant another secret, which is shown only once', {
      description:
        'The key keeps its id, rights, limits and budget. Sessions of the key end. Of its former secrets, only the last one is accepted.',
      params: ID,
      body: exactly({
        grace_minutes: {
          type: 'integer',
          minimum: 0,
          maximum: MAX_GRACE_MINUTES,
          default: 0,
          description: 'How long the former secret is accepted.',
        },
      }),
      response: { 200: object({ key: TEXT, former_until: TIME_OR_NULL, ...KEY }, 'The key') },
    }),
    async ({ caller, params: { id }, body, raw }, reply) => {
      const key = await ownKey(caller, id)
      // The caller gets the secret, and with it all that the key may do.
      checkRights(installation, caller, rightsOf(key))
      const wall = installation.clock.wall()
      if (key.revoked_at !== null || (key.expires_at !== null && Date.parse(key.expires_at) <= wall)) {
        throw new HttpProblem(409, `Key '${id}' is revoked or has expired`, 'create a new key')
      }
      const until = new Date(wall + body.grace_minutes * 60_000).toISOString()
      const secret = newApiKey()
      if (!(await installation.access.rotateKey(key, hashApiKey(secret), until, caller))) {
        throw new HttpProblem(409, `Key '${id}' was changed at the same time`, 'read it again, then rotate it')
      }
      await installation.callers.load(keys)
      if (caller !== LOCAL_CALLER && !installation.callers.isValid(caller.id)) throw keyEnded()
      // The browser that rotated its own key goes on with it.
      const owner = id === caller.id && raw.headers.origin !== undefined ? installation.callers.byId(id) : undefined
      if (owner !== undefined) reply.header('set-cookie', await authenticator.sessions.start(owner, raw))
      return { key: secret, former_until: body.grace_minutes === 0 ? null : until, ...shown(key) }
    },
  )
}

/** What a key may do, as if it was created now. */
const rightsOf = (key: StoredKey): KeyRights =>
  Object.fromEntries(Object.entries(key).filter(([, value]) => value !== null)) as unknown as KeyRights

/** All servers read all keys with every change of one. */
const MAX_KEYS = 1_000
const DAY_MS = 86_400_000

/** Keys that were revoked lately count as well, so that creating and revoking them does not add up. */
const tooManyKeys = (): HttpProblem =>
  new HttpProblem(
    429,
    `A tenant may have ${MAX_KEYS} keys`,
    "those that were revoked within a day count. Revoke keys that you don't need, and try again later",
  )

const EVERYTHING: readonly string[] = ['*']

/** The format allows leap seconds, which no Date has. */
function timeOf(text: string): number {
  const time = Date.parse(text)
  if (!Number.isNaN(time)) return time
  throw new HttpProblem(400, 'The request is not valid', `expires_at ${JSON.stringify(text)} is not a time`)
}

/** A key can't create a key with more than it has itself, or give a key more. */
function checkRights({ callers, budgets }: Installation, caller: Caller, body: KeyRights): void {
  const { scopes, expires_at } = body
  const { callsPerMinute, expiresAt, user } = caller
  const { roles } = callers
  const role = roles.get(body.role)
  const budget = caller === LOCAL_CALLER ? undefined : budgets.ofKey(caller.id)
  if (role === undefined) throw new HttpProblem(400, 'The request is not valid', unknownRole(body.role, roles))
  const until = expires_at === undefined ? Number.POSITIVE_INFINITY : timeOf(expires_at)
  for (const what of ['tools', 'models'] as const) {
    const own = caller[what] ?? EVERYTHING
    // The key gets what its patterns and those of its role have in common: either list may be within the own one.
    const lists = [body[what], role[what]].filter((patterns) => patterns !== undefined)
    // A pattern that matches as text matches no more than the one it matches.
    const more = (patterns: readonly string[]) => patterns.find((pattern) => !matchesGlobs(own, pattern))
    if (lists.some((patterns) => more(patterns) === undefined)) continue
    const beyond = more(lists[0] ?? EVERYTHING)
    if (beyond === undefined) continue
    throw new HttpProblem(
      403,
      `A key cannot grant ${what} that it does not have`,
      `'${beyond}' is not in ${shownGlobs(own)}`,
    )
  }
  if (callsPerMinute !== undefined) {
    const why = 'the calls of its keys would add up to more than its own'
    throw new HttpProblem(403, 'A key with a limit of calls cannot create or change keys', why)
  }
  if (budget !== undefined) {
    const why = `it may spend ${budget.amount} a ${budget.per}, and its keys could spend more. Use "toolyard keys create"`
    throw new HttpProblem(403, 'A key with a budget cannot create or change keys', why)
  }
  // Users are people: their tokens are short, and the keys that they create aren't.
  if (user === undefined && expiresAt < until) {
    const last = new Date(expiresAt).toISOString()
    throw new HttpProblem(403, 'A key cannot outlive the key that creates or changes it', `expires_at may be ${last}`)
  }
  // Only scopes of the role count, but a key can have `installation` beside them.
  const isGiven = (scope: Scope) => scopes === undefined || scopes.includes(scope)
  const given = [...role.scopes.filter(isGiven), ...(scopes?.includes('installation') ? ['installation' as const] : [])]
  const missing = given.filter((scope) => !caller.scopes.has(scope))
  if (missing.length === 0) return
  throw new HttpProblem(403, 'A key cannot grant scopes that it does not have', `your key lacks ${missing.join(', ')}`)
}

/** The first key ends the time without keys: with less, nobody could manage the server over HTTP any more. */
function requireAllRights({ role, scopes, tools, models, calls_per_minute, budget, expires_at }: NewKeyBody): void {
  const limits = { tools, models, calls_per_minute, budget, expires_at }
  const limited = Object.entries(limits).find(([, value]) => value !== undefined)?.[0]
  const lacks = scopes && ADMIN_SCOPES.find((scope) => !scopes.includes(scope))
  const problem =
    role !== 'admin' ? `role is '${role}'` : lacks ? `scopes lacks '${lacks}'` : limited && `${limited} is set`
  if (problem === undefined) return
  throw new HttpProblem(
    400,
    'The first key must be an admin key without limits',
    `${problem}. Requests without a key end with the first key; create lesser keys after it`,
  )
}

const shown = ({ hash: _hash, tenant: _tenant, ...key }: StoredKey, usedAt?: number): ShownKey => ({
  ...key,
  last_used_at: usedAt === undefined ? null : new Date(usedAt).toISOString(),
})
