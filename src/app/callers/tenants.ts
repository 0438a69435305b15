import type { Config } from '../../config/config.ts'
import type { LimitsConfig, TenantConfig } from '../../config/service-schema.ts'
import type { Clock } from '../../core/clock.ts'
import type { OnceClaim, OnceKey, OnceState, OnceStore } from '../../core/once-store.ts'
import type { KeyStore } from '../../core/storage/key-store.ts'
import { DEFAULT_QUOTA, type Quota } from '../../core/storage/quota.ts'
import type { SettingStore } from '../../core/storage/setting-store.ts'
import { ToolExecutionError, type ToolResult } from '../../core/tool-result.ts'

/** Permissions and tools that are switched on or off for a tenant. */
export type Flags = Readonly<Record<string, boolean>>

/** A tenant that has flags or valid keys. */
export interface ListedTenant {
  readonly id: string
  /** The effective flags: stored ones override configured ones. */
  readonly flags: Flags
  readonly configured: Flags
  readonly stored: Flags
  /** The number of valid keys. */
  readonly keys: number
}

export const TENANT_NAME = /^[A-Za-z0-9_.-]{1,64}$/

export const MAX_FLAG_LENGTH = 128

/** Whether a text can be a flag, the name of a permission or a tool. */
export const isFlagName = (text: string): boolean =>
  text !== '' && text.length <= MAX_FLAG_LENGTH && !/[\p{Cc}=]/u.test(text)

/** The stored flags by tenant, without those of the configuration. */
export async function storedFlags(settings: SettingStore): Promise<Map<string, Flags>> {
  const stored = await settings.list('tenant')
  const flags = stored.map(({ name, value }) => [name, (value as TenantConfig).flags ?? {}] as const)
  return new Map(flags.filter(([, own]) => Object.keys(own).length > 0))
}

/** Lists every tenant that has flags or valid keys, sorted by name. */
export function listTenants(
  { tenants: configured = {} }: Config,
  stored: ReadonlyMap<string, Flags>,
  keys: Awaited<ReturnType<KeyStore['list']>>,
): ListedTenant[] {
  const valid = keys.filter(({ revoked_at }) => revoked_at === null).map(({ tenant }) => tenant)
  const ids = new Set([...Object.keys(configured), ...stored.keys(), ...valid])
  return [...ids].sort().map((id) => {
    const fromFile = Object.hasOwn(configured, id) ? (configured[id]?.flags ?? {}) : {}
    const fromStore = stored.get(id) ?? {}
    return {
      id,
      flags: { ...fromFile, ...fromStore },
      configured: fromFile,
      stored: fromStore,
      keys: valid.filter((tenant) => tenant === id).length,
    }
  })
}

const NO_FLAGS: Flags = Object.freeze({})

/** The effective flags and quotas of each tenant. Stored flags override configured ones. */
export class Tenants {
  #configured: Readonly<Record<string, TenantConfig>> = {}
  #quota = DEFAULT_QUOTA
  #stored = new Map<string, Flags>()
  #flags = new Map<string, Flags>()

  /** Returns the same object until a flag changes. */
  flags(tenant: string): Flags {
    let flags = this.#flags.get(tenant)
    if (flags === undefined) {
      flags = Object.freeze({ ...this.#of(tenant)?.flags, ...this.#stored.get(tenant) })
      if (Object.keys(flags).length === 0) flags = NO_FLAGS
      this.#flags.set(tenant, flags)
    }
    return flags
  }

  quota(tenant: string): Quota {
    return { ...this.#quota, ...this.#of(tenant)?.quota }
  }

  configure({ tenants = {}, limits = {} }: Pick<Config, 'tenants' | 'limits'>): void {
    this.#configured = tenants
    this.#quota = quotaIn(limits)
    this.#flags = new Map()
  }

  #of(tenant: string): TenantConfig | undefined {
    return Object.hasOwn(this.#configured, tenant) ? this.#configured[tenant] : undefined
  }

  async load(settings: SettingStore): Promise<void> {
    this.#stored = await storedFlags(settings)
    this.#flags = new Map()
  }
}

const quotaIn = (limits: LimitsConfig): Quota => ({
  queued_jobs: limits.queued_jobs ?? DEFAULT_QUOTA.queued_jobs,
  durable_runs: limits.durable_runs ?? DEFAULT_QUOTA.durable_runs,
  documents: limits.documents ?? DEFAULT_QUOTA.documents,
  storage_bytes: limits.storage_bytes ?? DEFAULT_QUOTA.storage_bytes,
  stored_runs: limits.stored_runs ?? DEFAULT_QUOTA.stored_runs,
})

const DAY_MS = 86_400_000

/**
 * Counts the results that a tenant stores under idempotency keys against its quota for bytes. They are stored for a day, so
 * this day and the one before count, on this server.
 */
export class BoundedOnce implements OnceStore {
  readonly #store: OnceStore
  readonly #tenants: Tenants
  readonly #clock: Clock
  readonly #stored = new Map<string, { readonly day: number; today: number; readonly before: number }>()

  constructor(store: OnceStore, tenants: Tenants, clock: Clock) {
    this.#store = store
    this.#tenants = tenants
    this.#clock = clock
  }

  async claim(claim: OnceClaim): Promise<OnceState> {
    const state = await this.#store.claim(claim)
    const { tenant } = claim
    const { today, before } = this.#of(tenant)
    const { storage_bytes: most } = this.#tenants.quota(tenant)
    if (state.state !== 'fresh' || today + before < most) return state
    await this.#store.release(claim)
    throw new ToolExecutionError(
      'RATE_LIMITED',
      `Tenant '${tenant}' has reached its quota 'storage_bytes' with the results of idempotency keys. Try again tomorrow, or ask the operator to raise tenants.${tenant}.quota.storage_bytes`,
    )
  }

  look(key: OnceKey): Promise<OnceState> {
    return this.#store.look(key)
  }

  async settle(claim: OnceClaim, result: ToolResult): Promise<void> {
    await this.#store.settle(claim, result)
    this.#of(claim.tenant).today += JSON.stringify(result).length
  }

  release(claim: OnceClaim): Promise<void> {
    return this.#store.release(claim)
  }

  #of(tenant: string) {
    const day = Math.floor(this.#clock.wall() / DAY_MS)
    const known = this.#stored.get(tenant)
    if (known?.day === day) return known
    const fresh = { day, today: 0, before: known?.day === day - 1 ? known.today : 0 }
    this.#stored.set(tenant, fresh)
    return fresh
  }
}
