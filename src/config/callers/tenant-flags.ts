import type { KeyStore } from '../../core/storage/key-store.ts'
import type { SettingStore } from '../../core/storage/setting-store.ts'
import type { Config, TenantConfig } from '../config.ts'
import type { Flags, ListedTenant } from './listed-tenant.ts'

/** What a tenant may be called. */
export const TENANT_NAME = /^[A-Za-z0-9_.-]{1,64}$/

export const LONGEST_FLAG = 128

/** Whether this can be a flag: the name of a permission or of a tool. */
export const isFlagName = (text: string): boolean =>
  text !== '' && text.length <= LONGEST_FLAG && !/[\p{Cc}=]/u.test(text)

/** The flags that are stored, by tenant; those of the configuration are not among them. */
export async function storedFlags(settings: SettingStore): Promise<Map<string, Flags>> {
  const stored = await settings.list('tenant')
  return new Map(stored.map(({ name, value }) => [name, (value as TenantConfig).flags ?? {}]))
}

/** Stores flags of a tenant, or with null forgets one; others stay as they are. Gives what is stored then. */
export async function changeFlags(
  settings: SettingStore,
  tenant: string,
  changes: ReadonlyMap<string, boolean | null>,
): Promise<Flags> {
  const before = (await storedFlags(settings)).get(tenant) ?? {}
  const kept = Object.entries(before).filter(([flag]) => !changes.has(flag))
  const set = [...changes].filter((change): change is [string, boolean] => change[1] !== null)
  const after: Flags = Object.fromEntries([...kept, ...set])
  if (Object.keys(after).length === 0) await settings.remove('tenant', tenant)
  else await settings.put({ kind: 'tenant', name: tenant, value: { flags: after } })
  return after
}

/** Every tenant that has flags or valid keys, by name. */
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
