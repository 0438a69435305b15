export type Role = 'admin' | 'operator' | 'user'

/** A stored API key, without the key itself. */
export interface StoredKey {
  readonly id: string
  readonly hash: string
  readonly tenant: string
  readonly name: string
  readonly role: Role
  /** Fewer scopes than the role has, or `installation`. */
  readonly scopes: readonly string[] | null
  /** Overrides `limits.calls_per_minute`. */
  readonly calls_per_minute: number | null
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
}

export interface KeyStore {
  /** Includes revoked keys. */
  list(): Promise<readonly StoredKey[]>
  create(key: StoredKey): Promise<void>
  /** Returns false if there is no such key. Revoking twice changes nothing. */
  revoke(id: string, at: string): Promise<boolean>
}
