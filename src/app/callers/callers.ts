import { hash, randomBytes } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import { type Role, type Roles, rolesOf, SCOPES, type Scope } from '../../config/roles.ts'
import type { LimitsConfig } from '../../config/service-schema.ts'
import type { CallContext } from '../../core/call-context.ts'
import type { Clock } from '../../core/clock.ts'
import { USABLE_MS } from '../../core/execution/approvals.ts'
import { inBoth } from '../../core/execution/permit.ts'
import type { CallerRate, Rates } from '../../core/rates.ts'
import type { FormerSecret, KeyBudget, KeyStore, StoredKey, StoredUser } from '../../core/storage/key-store.ts'
import type { Tenants } from './tenants.ts'
import { type SignedIn, tenantOfUser, Users, userId } from './users.ts'

export { SCOPES, type Scope }

/** Lets secret scanners find leaked keys. */
const PREFIX = 'ty_'

/** 256 bits in base64url. */
const SECRET_LENGTH = 43
const MAX_MISTYPED = 64

/** Why a request is refused that has no key, or none that is valid, and what to do. */
export const NO_KEY = [
  'An API key is required',
  'send it as "Authorization: Bearer <key>" or "X-API-Key: <key>"',
] as const
export const WRONG_KEY = [
  'The API key is not valid',
  'it is unknown, revoked or expired, or its role is not configured',
] as const

/** Creates a key of 256 random bits. It is shown once; only its hash is stored. */
export const newApiKey = (): string => `${PREFIX}${randomBytes(32).toString('base64url')}`

/** One fast hash is enough: a key has too many bits to be guessed. */
export const hashApiKey = (key: string): string => hash('sha256', key)

/** The rate limit of one caller and its current state. */
export interface CallerLimit {
  readonly id: string
  readonly name: string
  readonly tenant: string
  readonly calls: number
  readonly per_ms: number
  readonly remaining: number
  /** Absent if a call may be made now. */
  readonly retry_in_ms?: number
  readonly set_by: 'key' | 'configuration'
}

/** An authenticated caller and its rights. */
export interface Caller {
  /** The id of its key, `user:<tenant>/<sub>` of a signed-in user, or `local`. */
  readonly id: string
  /** The `sub` of a signed-in user, or of the user that a key acts for. */
  readonly user?: string
  readonly tenant: string
  readonly name: string
  readonly role: string
  readonly scopes: ReadonlySet<Scope>
  /** Patterns of the tools that it may use; undefined: all of its tenant. */
  readonly tools: readonly string[] | undefined
  /** Patterns of the configured models that it may use. */
  readonly models: readonly string[]
  /** The key's own rate limit, if it has one. */
  readonly callsPerMinute: number | undefined
  /** What the key may spend, if it is limited. */
  readonly budget?: KeyBudget | undefined
  /** When its key or token expires, in milliseconds since 1970; infinity if never. */
  readonly expiresAt: number
}

export interface Rights extends Pick<CallContext, 'flags' | 'tools' | 'keyId' | 'user'> {
  readonly models: readonly string[]
}

const EVERY_MODEL: readonly string[] = Object.freeze(['*'])

const MINUTE = 60_000
/** Timers can't be much longer than three weeks. */
const MAX_WAIT_MS = 24 * 60 * MINUTE
/** A session ends after a day without calls. */
const SESSION_MS = 24 * 60 * 60_000
const CALLS_PER_SESSION = 1_000

type EndListener = (ids: ReadonlySet<string>, why: 'ended' | 'narrowed') => void

interface Known {
  readonly caller: Caller
  /** Milliseconds since 1970; 0 if the key was not used since the start. */
  usedAt: number
}

/** The caller of requests without a key, if these are allowed: the user of this machine. */
export const LOCAL_CALLER: Caller = Object.freeze({
  id: 'local',
  tenant: 'local',
  name: 'local',
  role: 'admin',
  // The user of this machine can open the store and run the commands anyway. The first key has the same rights.
  scopes: new Set(SCOPES.filter((scope) => scope !== 'act_as')),
  tools: undefined,
  models: EVERY_MODEL,
  callsPerMinute: undefined,
  expiresAt: Number.POSITIVE_INFINITY,
})

/** Whether the run is the caller's own, or the caller may observe its tenant. The user of this machine may read all. */
export const mayRead = (caller: Caller | undefined, run: { readonly caller: string | null } | undefined): boolean =>
  run !== undefined && (caller === undefined || run.caller === caller.id || caller.scopes.has('observe'))

const ACTED_FOR = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/

/** Whether a key acts for another user. */
export const actsForAnother = ({ id, tenant, user }: Caller): boolean =>
  user !== undefined && id !== userId(tenant, user)

/** A key as it acts for a user of its tenant. Returns the problem if it may not. */
export function actingFor(caller: Caller, user: unknown): Caller | string {
  if (!caller.scopes.has('act_as')) return "the API key lacks the scope 'act_as'"
  if (caller.user !== undefined) return 'only an API key can act for a user'
  if (typeof user !== 'string' || !ACTED_FOR.test(user)) return 'it must be 1 to 255 printable ASCII characters'
  return { ...caller, user }
}

/** All callers: keys by their hashes, and users who have signed in. */
export class Callers {
  readonly #tenants: Tenants
  readonly #clock: Clock
  #limits: LimitsConfig = {}
  #roles = rolesOf()
  /** All keys, also revoked ones. */
  #keys: readonly StoredKey[] = []
  #known = new Map<string, Known>()
  /** By the key itself, once it was sent: a hash for each request is expensive. As many as there are valid keys at most. */
  #presented = new Map<string, Known>()
  /** Keys that were revoked, or whose role isn't configured. */
  #refused = new Map<string, StoredKey>()
  /** The former secrets of keys that were rotated, by hash. */
  #former = new Map<string, FormerSecret>()
  #byId = new Map<string, Known>()
  /** All keys, also revoked ones, by id. */
  #stored = new Map<string, Pick<StoredKey, 'name' | 'created_by' | 'budget'>>()
  readonly #users: Users
  #keyed = false
  #loads = 0
  /** The ids of the keys that were valid when last checked. */
  #valid: ReadonlySet<string> = new Set()
  readonly #ended = new Set<EndListener>()
  #cancelCheck = (): void => {}

  constructor(tenants: Tenants, clock: Clock) {
    this.#tenants = tenants
    this.#clock = clock
    this.#users = new Users(clock)
  }

  /** Whether a key exists or existed, or users can sign in: from then on, every request needs a key or a token. */
  get keyed(): boolean {
    return this.#keyed
  }

  get roles(): Roles {
    return this.#roles
  }

  /** Whether there is a key, or was one. */
  get hasKeys(): boolean {
    return this.#keys.length > 0
  }

  configure(config: Pick<Config, 'limits' | 'roles' | 'auth'>): void {
    this.#limits = config.limits ?? {}
    this.#users.configure(config.auth?.oidc)
    // Users are callers: requests without a key or token end, as with the first key.
    this.#keyed ||= this.#users.signIn
    this.#roles = rolesOf(config)
    this.#update()
  }

  /** Reads the valid keys. If two loads overlap, the one that started last wins. */
  async load(keys: KeyStore): Promise<void> {
    const turn = ++this.#loads
    const [stored, users, former] = await Promise.all([keys.list(), keys.users(), keys.formerSecrets()])
    if (turn < this.#loads) return
    this.#keyed ||= stored.length > 0
    this.#keys = stored
    this.#former = new Map(former.map((secret) => [secret.hash, secret]))
    this.#users.load(users)
    this.#stored = new Map(stored.map((key) => [key.id, key]))
    this.#update()
  }

  /** Applies the keys and the roles. */
  #update(): void {
    const before = this.#known
    this.#known = new Map()
    this.#refused = new Map()
    for (const key of this.#keys) {
      const role = key.revoked_at === null ? this.#roles.get(key.role) : undefined
      if (role === undefined) this.#refused.set(key.hash, key)
      else this.#known.set(key.hash, known(key, role, before.get(key.hash)?.usedAt))
    }
    this.#presented.clear()
    const earlier = this.#byId
    this.#byId = new Map([...this.#known.values()].map((one) => [one.caller.id, one]))
    for (const user of this.#users.all()) this.#addUser(user)
    const narrowed = [...this.#byId].filter(([id, { caller }]) => isNarrower(caller, earlier.get(id)?.caller))
    // A secret that is no longer accepted may have begun what runs.
    const now = this.#clock.wall()
    const rotated = [...this.#former.values()].filter(({ hash, until }) => before.has(hash) && Date.parse(until) <= now)
    this.#check([...narrowed.map(([id]) => id), ...rotated.map(({ id }) => id)])
  }

  #addUser(user: StoredUser): void {
    const caller = this.#users.isSignedIn(user) ? this.#userCaller(user, user.expires_at) : undefined
    if (caller !== undefined) this.#byId.set(user.id, { caller, usedAt: 0 })
  }

  /** Whether an administrator has signed the user out since the token was issued. */
  isRevoked(id: string, issuedAt: number): boolean {
    return this.#users.isRevoked(id, issuedAt)
  }

  #userCaller(
    { id, tenant, subject, name, role }: Pick<StoredUser, 'id' | 'tenant' | 'subject' | 'name' | 'role'>,
    expiresAt: number,
  ) {
    const given = this.#roles.get(role)
    if (given === undefined) return undefined
    const { scopes, tools, models = EVERY_MODEL } = given
    const rights = { role, scopes: new Set(scopes), tools, models, callsPerMinute: undefined }
    return { id, tenant, name, user: subject, ...rights, expiresAt }
  }

  /** The caller of a user whose token or sign-in was verified; undefined if there is no such role. `store` must not fail. */
  async signIn(
    user: SignedIn,
    expiresAt: number,
    store: (user: StoredUser) => Promise<void>,
  ): Promise<Caller | undefined> {
    const caller = this.#userCaller({ ...user, id: userId(user.tenant, user.subject) }, expiresAt)
    const stored = caller && this.#users.add(user)
    if (stored === undefined) return caller
    this.#addUser(stored)
    this.#check()
    await store(stored)
    return caller
  }

  /** The key that this one was, if it is revoked or expired, or its role isn't configured. */
  former(key: string): Pick<StoredKey, 'id' | 'name' | 'tenant'> | undefined {
    const hash = hashApiKey(key)
    const id = this.#former.get(hash)?.id
    const known = this.#refused.get(hash) ?? this.#known.get(hash)?.caller
    return known ?? this.#keys.find((one) => one.id === id)
  }

  /** Whether a text contains a key without its prefix, valid or not, also with a few characters around it. */
  hasSecret(text: string): boolean {
    for (const [run] of text.matchAll(/[\w-]{43,}/g)) {
      // A mistyped key is not much longer. Each place takes a microsecond.
      for (let at = 0; run.length <= MAX_MISTYPED && at + SECRET_LENGTH <= run.length; at++) {
        const hash = hashApiKey(`${PREFIX}${run.slice(at, at + SECRET_LENGTH)}`)
        if (this.#known.has(hash) || this.#refused.has(hash) || this.#former.has(hash)) return true
      }
    }
    return false
  }

  /** Finds the caller of a key. Unknown, revoked and expired keys and keys of unknown roles have none. */
  find(key: string): Caller | undefined {
    // Both lookups are by hash, that of V8 has a random seed: their timing reveals nothing about the key.
    const presented = this.#presented.get(key)
    if (presented !== undefined) return this.#use(presented)
    const hash = hashApiKey(key)
    const known = this.#known.get(hash)
    if (known === undefined) return this.#rotated(hash)
    this.#presented.set(key, known)
    return this.#use(known)
  }

  /**
   * The caller of the key whose former secret this is, as long as that is accepted. It expires with the secret, so that it
   * neither creates a key that lives longer nor takes over its own.
   */
  #rotated(hash: string): Caller | undefined {
    const { id = '', until = '' } = this.#former.get(hash) ?? {}
    const caller = Date.parse(until) > this.#clock.wall() ? this.byId(id) : undefined
    return caller && { ...caller, expiresAt: Math.min(caller.expiresAt, Date.parse(until)) }
  }

  /** Whether this is a former secret of a key, accepted or not. */
  isFormerSecret(key: string): boolean {
    return this.#former.has(hashApiKey(key))
  }

  /** Finds the caller of a valid key by the id of the key. */
  byId(id: string): Caller | undefined {
    return this.#use(this.#byId.get(id))
  }

  /** The caller whose run an approval has woken: a user may have had these rights then, but not since. */
  wokenAt(id: string, wokenAt: number): Caller | undefined {
    const known = this.#byId.get(id)?.caller
    const isUsable = known?.user !== undefined && wokenAt + USABLE_MS > this.#clock.wall()
    return isUsable && known.expiresAt > wokenAt ? known : undefined
  }

  /** The name of a key, also of a revoked one. */
  nameOf(id: string): string {
    return (this.#stored.get(id) ?? this.#users.find(id))?.name ?? id
  }

  /** What a key may spend, if it is limited. */
  budgetOf(id: string): KeyBudget | undefined {
    return this.#stored.get(id)?.budget ?? undefined
  }

  /** Whether there is such a caller, or was one. */
  isKnown(id: string): boolean {
    return id === LOCAL_CALLER.id || this.#stored.has(id) || (this.#users.signIn && tenantOfUser(id) !== undefined)
  }

  /** Whether two keys are the same, or the other key created this one, directly or through keys that it created. */
  descends(id: string, ancestor: string): boolean {
    const seen = new Set<string>()
    for (let at: string | null = id; at !== null && !seen.has(at); at = this.#stored.get(at)?.created_by ?? null) {
      if (at === ancestor) return true
      seen.add(at)
    }
    return false
  }

  /** Whether calls may go on for this caller: its key was neither revoked, nor has it expired. */
  isValid(id: string): boolean {
    if (id === LOCAL_CALLER.id || !this.#keyed) return true
    return (this.#byId.get(id)?.caller.expiresAt ?? 0) > this.#clock.wall()
  }

  /**
   * Calls back with the ids of keys that were revoked or have expired, or whose role may do less than before: what they run has
   * the rights that they had. Returns a function that stops it.
   */
  onEnd(listener: EndListener): () => void {
    this.#ended.add(listener)
    this.#check()
    return () => {
      this.#ended.delete(listener)
      if (this.#ended.size === 0) this.#cancelCheck()
    }
  }

  /** Tells the listeners which keys have ended, and checks again when the next one expires. */
  #check(narrowed: readonly string[] = []): void {
    const before = this.#valid
    this.#valid = new Set([...this.#byId.keys()].filter((id) => this.isValid(id)))
    this.#cancelCheck()
    if (this.#ended.size === 0) return
    let next = Number.POSITIVE_INFINITY
    for (const id of this.#valid) next = Math.min(next, this.#byId.get(id)?.caller.expiresAt ?? next)
    const waitMs = Math.max(1, next - this.#clock.wall())
    if (next < Number.POSITIVE_INFINITY) {
      this.#cancelCheck = this.#clock.after(Math.min(waitMs, MAX_WAIT_MS), () => this.#check())
    }
    const ended = before.difference(this.#valid)
    for (const listener of this.#ended) {
      if (ended.size > 0) listener(ended, 'ended')
      if (narrowed.length > 0) listener(new Set(narrowed), 'narrowed')
    }
  }

  #use(known: Known | undefined): Caller | undefined {
    if (known === undefined) return undefined
    const now = this.#clock.wall()
    if (known.caller.expiresAt <= now) return undefined
    known.usedAt = now
    return known.caller
  }

  /** When each key was last used on this server, by key id, in milliseconds since 1970. */
  lastUses(): Map<string, number> {
    const used = [...this.#known.values()].filter(({ usedAt }) => usedAt > 0)
    return new Map(used.map(({ caller, usedAt }) => [caller.id, usedAt]))
  }

  /** The state of the rate limits of one tenant's callers, or of all callers. */
  limits(tenant: string | undefined, rates: Rates): CallerLimit[] {
    const now = this.#clock.now()
    const callers = this.#byId.size === 0 ? [LOCAL_CALLER] : [...this.#byId.values()].map(({ caller }) => caller)
    return callers
      .filter((caller) => tenant === undefined || caller.tenant === tenant)
      .flatMap((caller): CallerLimit[] => {
        const { id, name, tenant, callsPerMinute } = caller
        const [rate] = this.#rates(caller, undefined)
        if (rate === undefined) return []
        const { remaining, waitMs } = rates.look(rate.key, rate, now)
        return [
          {
            id,
            name,
            tenant,
            calls: rate.calls,
            per_ms: rate.perMs,
            remaining,
            ...(waitMs > 0 && { retry_in_ms: Math.ceil(waitMs) }),
            set_by: callsPerMinute === undefined ? 'configuration' : 'key',
          },
        ]
      })
  }

  /** The context for calls by this caller. */
  context(caller: Caller, source: CallContext['source'], session?: string): CallContext {
    const rates = this.#rates(caller, session)
    return {
      tenant: caller.tenant,
      caller: caller.id,
      ...this.#rights(caller),
      ...(source !== undefined && { source }),
      ...(session !== undefined && { session }),
      ...(rates.length > 0 && { rates }),
    }
  }

  /** The rights of a caller by the id of its key. Once there are keys, an unknown or revoked one has no rights. */
  rightsOf(id: string | null, tenant: string): Rights {
    const known = this.#byId.get(id ?? '')?.caller
    const isLocal = !this.#keyed || id === null || id === '' || id === LOCAL_CALLER.id
    return this.#rights(known ?? { ...LOCAL_CALLER, tenant, ...(!isLocal && { tools: [], models: [] }) })
  }

  #rights({ id, tenant, tools, models, user }: Caller): Rights {
    // A budget of each key is one of each user, too.
    const keyId = this.#stored.has(id) || user !== undefined ? id : undefined
    const flags = this.#tenants.flags(tenant)
    return { flags, tools, models, ...(keyId !== undefined && { keyId }), ...(user !== undefined && { user }) }
  }

  #rates({ id, name, tenant, callsPerMinute }: Caller, session: string | undefined): CallerRate[] {
    const rates: CallerRate[] = []
    const calls = callsPerMinute ?? this.#limits.calls_per_minute
    if (calls !== undefined) {
      const description = `Caller '${name}' may make ${calls} calls a minute`
      rates.push({ key: `caller ${tenant} ${id}`, calls, perMs: MINUTE, description })
    }
    if (session !== undefined) {
      const limit = this.#limits.calls_per_session ?? CALLS_PER_SESSION
      const description = `A session may make ${limit} tool calls`
      rates.push({
        key: `session ${tenant} ${id} ${session}`,
        calls: limit,
        perMs: SESSION_MS,
        description,
        ofSession: true,
      })
    }
    return rates
  }
}

/** Whether a caller may do less than before. Lists of patterns are compared as text. */
function isNarrower(now: Caller, before: Caller | undefined): boolean {
  if (before === undefined || before === now) return false
  const lacks = (own: readonly string[] | undefined, former: readonly string[] | undefined): boolean =>
    own !== undefined && (former === undefined || former.some((pattern) => !own.includes(pattern)))
  return (
    before.scopes.difference(now.scopes).size > 0 || lacks(now.tools, before.tools) || lacks(now.models, before.models)
  )
}

function known(key: StoredKey, given: Role, usedAt = 0): Known {
  const scopes = new Set<Scope>(given.scopes)
  if (key.scopes !== null) {
    for (const scope of scopes) if (!key.scopes.includes(scope)) scopes.delete(scope)
    // No built-in role includes this scope.
    if (key.scopes.includes('installation')) scopes.add('installation')
  }
  const { id, tenant, name, role, tools, models, calls_per_minute } = key
  return {
    caller: {
      id,
      tenant,
      name,
      role,
      scopes,
      tools: inBoth(given.tools, tools ?? undefined),
      models: inBoth(given.models, models ?? undefined) ?? EVERY_MODEL,
      callsPerMinute: calls_per_minute ?? undefined,
      budget: key.budget ?? undefined,
      expiresAt: key.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at),
    },
    usedAt,
  }
}
