import type { CallContext } from '../../core/call-context.ts'
import type { Clock } from '../../core/clock.ts'
import type { CallerRate, Rates } from '../../core/rates.ts'
import type { KeyStore, StoredKey } from '../../core/storage/key-store.ts'
import type { LimitsConfig } from '../config.ts'
import { hashApiKey } from './api-key.ts'
import type { Caller } from './caller.ts'
import type { CallerLimit } from './caller-limit.ts'
import { ROLES, SCOPES, type Scope } from './scopes.ts'
import type { Tenants } from './tenants.ts'

const MINUTE = 60_000
/** A session is over when it has been quiet for so long. */
const SESSION_MS = 24 * 60 * 60_000
export const CALLS_PER_SESSION = 1_000

interface Known {
  readonly caller: Caller
  readonly expiresAt: number
  /** When it was last found, in milliseconds since 1970; 0: not since the start. */
  usedAt: number
}

/** Who calls without a key, where that is allowed: the person at this machine. */
export const LOCAL_CALLER: Caller = Object.freeze({
  id: 'local',
  tenant: 'local',
  name: 'local',
  role: 'admin',
  // Whoever is at this machine has the store and the commands as well.
  scopes: new Set(SCOPES),
  callsPerMinute: undefined,
})

/** Everybody who has a key, found by its hash. */
export class Callers {
  readonly #tenants: Tenants
  readonly #clock: Clock
  #limits: LimitsConfig = {}
  #known = new Map<string, Known>()
  #loads = 0

  constructor(tenants: Tenants, clock: Clock) {
    this.#tenants = tenants
    this.#clock = clock
  }

  /** How many keys are valid now. */
  get size(): number {
    return this.#known.size
  }

  configure(limits: LimitsConfig = {}): void {
    this.#limits = limits
  }

  /** Reads the keys that are valid. Of two that read at once, the one that began last has the last word. */
  async load(keys: KeyStore): Promise<void> {
    const turn = ++this.#loads
    const stored = await keys.list()
    if (turn < this.#loads) return
    const before = this.#known
    const valid = stored.filter((key) => key.revoked_at === null)
    this.#known = new Map(valid.map((key) => [key.hash, known(key, before.get(key.hash)?.usedAt)]))
  }

  /** Whose key this is; undefined for one that is unknown, revoked or past its time. */
  find(key: string): Caller | undefined {
    // How long the lookup takes tells nobody a part of a key: it is by the hash of the whole.
    const known = this.#known.get(hashApiKey(key))
    if (known === undefined) return undefined
    const now = this.#clock.wall()
    if (known.expiresAt <= now) return undefined
    known.usedAt = now
    return known.caller
  }

  /** When each key was last used here, by its id, in milliseconds since 1970; those that were not since the start are absent. */
  lastUses(): Map<string, number> {
    const used = [...this.#known.values()].filter(({ usedAt }) => usedAt > 0)
    return new Map(used.map(({ caller, usedAt }) => [caller.id, usedAt]))
  }

  /** How the limits on calls a minute stand: of the callers of one tenant, or of all. */
  limits(tenant: string | undefined, rates: Rates): CallerLimit[] {
    const now = this.#clock.now()
    const callers = this.#known.size === 0 ? [LOCAL_CALLER] : [...this.#known.values()].map(({ caller }) => caller)
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

  /** What the caller's calls are made with. */
  context(caller: Caller, source: CallContext['source'], session?: string): CallContext {
    const rates = this.#rates(caller, session)
    return {
      tenant: caller.tenant,
      caller: caller.id,
      flags: this.#tenants.flags(caller.tenant),
      ...(source !== undefined && { source }),
      ...(rates.length > 0 && { rates }),
    }
  }

  #rates({ id, name, tenant, callsPerMinute }: Caller, session: string | undefined): CallerRate[] {
    const rates: CallerRate[] = []
    const calls = callsPerMinute ?? this.#limits.calls_per_minute
    if (calls !== undefined) {
      const says = `Caller '${name}' may make ${calls} calls a minute`
      rates.push({ key: `caller ${tenant} ${id}`, calls, perMs: MINUTE, says })
    }
    if (session !== undefined) {
      const most = this.#limits.calls_per_session ?? CALLS_PER_SESSION
      const says = `A session may make ${most} tool calls`
      rates.push({ key: `session ${tenant} ${id} ${session}`, calls: most, perMs: SESSION_MS, says })
    }
    return rates
  }
}

function known(key: StoredKey, usedAt = 0): Known {
  const scopes = new Set<Scope>(ROLES[key.role])
  if (key.scopes !== null) {
    for (const scope of scopes) if (!key.scopes.includes(scope)) scopes.delete(scope)
    // Seeing all tenants comes with no role: it is given by name.
    if (key.scopes.includes('installation')) scopes.add('installation')
  }
  const { id, tenant, name, role, calls_per_minute } = key
  return {
    caller: { id, tenant, name, role, scopes, callsPerMinute: calls_per_minute ?? undefined },
    expiresAt: key.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at),
    usedAt,
  }
}
