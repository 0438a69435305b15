import type { SettingStore } from '../../core/storage/setting-store.ts'
import type { TenantConfig } from '../config.ts'

type Flags = Readonly<Record<string, boolean>>

const NONE: Flags = Object.freeze({})

/** The flags of each tenant: those of the configuration, and over them those that are stored. */
export class Tenants {
  #configured: Readonly<Record<string, TenantConfig>> = {}
  #stored = new Map<string, Flags>()
  #flags = new Map<string, Flags>()

  /** The flags as one object, the same as long as nothing changes. */
  flags(tenant: string): Flags {
    let flags = this.#flags.get(tenant)
    if (flags === undefined) {
      const configured = Object.hasOwn(this.#configured, tenant) ? this.#configured[tenant]?.flags : undefined
      flags = Object.freeze({ ...configured, ...this.#stored.get(tenant) })
      if (Object.keys(flags).length === 0) flags = NONE
      this.#flags.set(tenant, flags)
    }
    return flags
  }

  configure(tenants: Readonly<Record<string, TenantConfig>> = {}): void {
    this.#configured = tenants
    this.#flags = new Map()
  }

  /** Reads what is stored. */
  async load(settings: SettingStore): Promise<void> {
    const stored = await settings.list('tenant')
    this.#stored = new Map(stored.map(({ name, value }) => [name, (value as TenantConfig).flags ?? NONE]))
    this.#flags = new Map()
  }
}
