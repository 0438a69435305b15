import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { hashApiKey, newApiKey } from '../../config/callers/api-key.ts'
import type { Caller } from '../../config/callers/caller.ts'
import { ROLES, SCOPES, type Scope } from '../../config/callers/scopes.ts'
import type { Role, StoredKey } from '../../core/storage/key-store.ts'
import { HttpProblem } from '../http-problem.ts'
import type { Service } from '../service.ts'
import type { ShownKey } from './shown-key.ts'

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
export function keyRoutes(app: FastifyInstance, { installation }: Service): void {
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
  throw new HttpProblem(403, 'A key cannot give what it does not have', `your key lacks ${missing.join(', ')}`)
}

const shown = ({ hash: _hash, tenant: _tenant, ...key }: StoredKey, usedAt?: number): ShownKey => ({
  ...key,
  last_used_at: usedAt === undefined ? null : new Date(usedAt).toISOString(),
})
