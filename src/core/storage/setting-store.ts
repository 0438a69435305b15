/** What can be changed while servers run: a tenant's flags, limits, pins of MCP tools. */
export type SettingKind = 'tenant' | 'limits' | 'pin' | 'secret'

export interface Setting {
  readonly kind: SettingKind
  readonly name: string
  /** Any JSON value. */
  readonly value: unknown
}

export interface SettingStore {
  list(kind: SettingKind): Promise<readonly Setting[]>
  put(setting: Setting): Promise<void>
  /** Puts it only where there is none yet; gives the one that stands. */
  putFirst(setting: Setting): Promise<unknown>
  remove(kind: SettingKind, name: string): Promise<boolean>
}
