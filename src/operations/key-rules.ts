import { type Caller, LOCAL_CALLER, SCOPES, type Scope } from '../app/callers/callers.ts'
import { ADMIN_SCOPES, KEY_PATTERN, MAX_KEY_PATTERNS, type Roles, rolesOf, unknownRole } from '../config/roles.ts'
import { BUDGET_PROPERTIES } from '../core/costs.ts'
import { matchesGlobs, shownGlobs } from '../core/execution/permit.ts'
import { invalid, OperationError } from '../core/operation/operation-error.ts'
import type { KeyBudget, StoredKey } from '../core/storage/key-store.ts'
import { exactly, type StoreHost, TEXT, TIME_OR_NULL } from './operation.ts'

/** A key without its secret and its hash. */
export interface ShownKey extends Omit<StoredKey, 'hash' | 'tenant'> {
  /** Only if keys of all tenants are meant. */
  readonly tenant?: string
  readonly last_used_at: string | null
}

/** What a key may do. */
export interface KeyRights {
  readonly role: string
  readonly scopes?: readonly Scope[]
  readonly tools?: readonly string[]
  readonly models?: readonly string[]
  readonly calls_per_minute?: number
  readonly budget?: KeyBudget
  readonly expires_at?: string
}

export interface NewKey extends KeyRights {
  readonly name: string
}

/** What is absent stays; null is the default. */
export type KeyChanges = { readonly [Field in keyof NewKey]?: NewKey[Field] | null }

export const KEY = {
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
/** On one line, with a character that one can see. */
const NAME_PATTERN = '^[\\p{Zs}\\p{Cf}]*[^\\s\\p{Cc}\\p{Cf}\\p{Cs}][^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}]*$'
const NAME = { type: 'string', minLength: 1, maxLength: 100, pattern: NAME_PATTERN, examples: ['ci'] }
const ROLE = { type: 'string', maxLength: 64, description: 'As GET /api/roles lists them.', examples: ['operator'] }
const ROLE_OR_USER = {
  type: 'string',
  maxLength: 64,
  default: 'user',
  description: ROLE.description,
  examples: ROLE.examples,
}
const LIMITS = {
  scopes: { type: 'array', maxItems: SCOPES.length, items: { enum: SCOPES.filter((one) => one !== 'installation') } },
  tools: patterns('tools', ['get_*', 'calculate']),
  models: patterns('models', ['openai:gpt-4o*', 'mini:*']),
  calls_per_minute: { type: 'integer', minimum: 1, maximum: 10_000_000 },
  budget: { ...exactly(BUDGET_PROPERTIES), required: ['per', 'amount'], description: 'What the key may spend.' },
  expires_at: { type: 'string', format: 'date-time' },
}
export const NEW_KEY = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: { name: NAME, role: ROLE_OR_USER, ...LIMITS },
}
const orNull = (schema: object) => ({ anyOf: [schema, { type: 'null' }] })
export const KEY_CHANGES = {
  ...exactly({
    name: NAME,
    role: ROLE,
    ...Object.fromEntries(Object.entries(LIMITS).map(([field, schema]) => [field, orNull(schema)])),
  }),
  minProperties: 1,
}
/** What a stored key may do, as if it was created now. */
export const rightsOf = (key: StoredKey): KeyRights =>
  Object.fromEntries(Object.entries(key).filter(([, value]) => value !== null)) as unknown as KeyRights

/** The scopes to store; null means every scope of the role. */
export function scopesOf(
  { role, scopes }: { readonly role: string; readonly scopes?: readonly string[] | null | undefined },
  allTenants: boolean,
  roles: Roles,
): readonly string[] | null {
  const included: readonly string[] | undefined = roles.get(role)?.scopes
  if (included === undefined) throw invalid(unknownRole(role, roles))
  const more = scopes?.find((one) => !included.includes(one))
  if (more !== undefined) {
    throw invalid(`The role '${role}' does not include the scope '${more}', only ${included.join(', ')}`)
  }
  return allTenants ? [...new Set([...(scopes ?? included), 'installation'])] : scopes ? [...new Set(scopes)] : null
}

interface ScopeChanges {
  readonly role: string
  readonly scopes: readonly Scope[] | null | undefined
  readonly all_tenants: boolean | undefined
}

/** The scopes after a change. Over HTTP nobody can name `installation`, so it ends with the scopes that were beside it. */
export function changedScopes(
  old: StoredKey,
  { role, scopes, all_tenants }: ScopeChanges,
  roles: Roles,
  caller: Caller | undefined,
): readonly string[] | null {
  if (scopes === undefined && all_tenants === undefined && role === old.role) return old.scopes
  const isWhole = old.scopes?.includes('installation') ?? false
  const stays = isWhole && (caller === undefined || scopes === undefined)
  const kept = scopes === undefined ? old.scopes?.filter((one) => one !== 'installation') : scopes
  // All scopes of the role are stored beside `installation`: they are no restriction then.
  const isAll = roles.get(role)?.scopes.every((one) => kept?.includes(one)) === true
  return scopesOf({ role, scopes: isAll && scopes === undefined ? null : kept }, all_tenants ?? stays, roles)
}

/** The time in milliseconds since 1970. The format allows leap seconds, which no Date has. */
function timeOf(text: string): number {
  const time = Date.parse(text)
  if (!Number.isNaN(time)) return time
  throw invalid(`expires_at ${JSON.stringify(text)} is not a time`)
}

/** When a key is to expire, as it is stored. */
export function expiryOf(text: string | null | undefined, now: number): string | null {
  if (text === undefined || text === null) return null
  const time = timeOf(text)
  if (time <= now) throw invalid(`expires_at ${JSON.stringify(text)} is not in the future`)
  return new Date(time).toISOString()
}

const EVERYTHING: readonly string[] = ['*']

/** A key can't create a key with more than it has itself, or give a key more. The user of this machine may grant everything. */
export async function checkRights(host: StoreHost, caller: Caller | undefined, rights: KeyRights): Promise<void> {
  if (caller === undefined) return
  const { scopes, expires_at } = rights
  const { callsPerMinute, expiresAt, user } = caller
  const roles = rolesOf(await host.currentConfig())
  const role = roles.get(rights.role)
  const budget = caller === LOCAL_CALLER ? undefined : host.budgets?.ofKey(caller.id)
  if (role === undefined) throw invalid(unknownRole(rights.role, roles))
  const until = expires_at === undefined ? Number.POSITIVE_INFINITY : timeOf(expires_at)
  const refuse = (message: string, why: string) => new OperationError('forbidden', message, why)
  for (const what of ['tools', 'models'] as const) {
    const own = caller[what] ?? EVERYTHING
    // The key gets what its patterns and those of its role have in common: either list may be within the own one.
    const lists = [rights[what], role[what]].filter((patterns) => patterns !== undefined)
    // A pattern that matches as text matches no more than the one it matches.
    const more = (patterns: readonly string[]) => patterns.find((pattern) => !matchesGlobs(own, pattern))
    if (lists.some((patterns) => more(patterns) === undefined)) continue
    const beyond = more(lists[0] ?? EVERYTHING)
    if (beyond === undefined) continue
    throw refuse(`A key cannot grant ${what} that it does not have`, `'${beyond}' is not in ${shownGlobs(own)}`)
  }
  if (callsPerMinute !== undefined) {
    const why = 'the calls of its keys would add up to more than its own'
    throw refuse('A key with a limit of calls cannot create or change keys', why)
  }
  if (budget !== undefined) {
    const why = `it may spend ${budget.amount} a ${budget.per}, and its keys could spend more. Use "toolyard keys create"`
    throw refuse('A key with a budget cannot create or change keys', why)
  }
  // Users are people: their tokens are short, and the keys that they create aren't.
  if (user === undefined && expiresAt < until) {
    const last = new Date(expiresAt).toISOString()
    throw refuse('A key cannot outlive the key that creates or changes it', `expires_at may be ${last}`)
  }
  // Only scopes of the role count, but a key can have `installation` beside them.
  const isGiven = (scope: Scope) => scopes === undefined || scopes.includes(scope)
  const given = [...role.scopes.filter(isGiven), ...(scopes?.includes('installation') ? ['installation' as const] : [])]
  const missing = given.filter((scope) => !caller.scopes.has(scope))
  if (missing.length === 0) return
  throw refuse('A key cannot grant scopes that it does not have', `your key lacks ${missing.join(', ')}`)
}

/** The first key ends the time without keys: with less, nobody could manage the server over HTTP any more. */
export function requireAllRights({ role, scopes, ...limits }: KeyRights): void {
  const { tools, models, calls_per_minute, budget, expires_at } = limits
  const set = Object.entries({ tools, models, calls_per_minute, budget, expires_at })
  const limited = set.find(([, value]) => value !== undefined)?.[0]
  const lacks = scopes && ADMIN_SCOPES.find((scope) => !scopes.includes(scope))
  const problem =
    role !== 'admin' ? `role is '${role}'` : lacks ? `scopes lacks '${lacks}'` : limited && `${limited} is set`
  if (problem === undefined) return
  throw new OperationError(
    'invalid',
    'The first key must be an admin key without limits',
    `${problem}. Requests without a key end with the first key; create lesser keys after it`,
  )
}
