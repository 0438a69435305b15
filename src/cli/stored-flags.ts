import type { TenantConfig } from '../config/config.ts'
import type { SettingStore } from '../core/storage/setting-store.ts'

export type Flags = Readonly<Record<string, boolean>>

/** The flags that are stored, by tenant; those of the configuration are not among them. */
export async function storedFlags(settings: SettingStore): Promise<Map<string, Flags>> {
  const stored = await settings.list('tenant')
  return new Map(stored.map(({ name, value }) => [name, (value as TenantConfig).flags ?? {}]))
}

/** Flags as they are typed. */
export const flagWords = (flags: Flags): string =>
  Object.entries(flags)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
