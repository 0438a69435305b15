export type Role = 'admin' | 'operator' | 'user'

/** An API key as it is kept: never the key itself. */
export interface StoredKey {
  readonly id: string
  /** SHA-256 of the key, hexadecimal. */
  readonly hash: string
  readonly tenant: string
  readonly name: string
  readonly role: Role
  /** What the key may do, where that is less than its role may, or `installation`. */
  readonly scopes: readonly string[] | null
  /** Calls a minute, where that differs from `limits.calls_per_minute`. */
  readonly calls_per_minute: number | null
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
}

export interface KeyStore {
  /** All keys of the installation, revoked ones too. */
  list(): Promise<readonly StoredKey[]>
  create(key: StoredKey): Promise<void>
  /** False where there is no such key; revoking twice changes nothing. */
  revoke(id: string, at: string): Promise<boolean>
}
