/**
 * Settings that can change while servers run. `copy` marks a store that a copy has not filled yet. `alerts` is the state of
 * alerts, and `tool_names` says which MCP server has which name: servers read them when they need them, and are not told
 * about changes. `stored_secret` is encrypted.
 */
export type SettingKind =
  | 'tenant'
  | 'limits'
  | 'pin'
  | 'rollout'
  | 'secret'
  | 'stored_secret'
  | 'copy'
  | 'alerts'
  | 'tool_names'

export interface Setting {
  readonly kind: SettingKind
  readonly name: string
  /** Any JSON value. */
  readonly value: unknown
}

export interface SettingStore {
  list(kind: SettingKind): Promise<readonly Setting[]>
  put(setting: Setting): Promise<void>
  /** Stores it only if there is none yet. Returns the stored value. */
  putFirst(setting: Setting): Promise<unknown>
  /** Stores it only if the stored value is still `before`; without it, if there is none. Returns false if not. */
  replace(setting: Setting, before?: unknown): Promise<boolean>
  remove(kind: SettingKind, name: string): Promise<boolean>
}
