import type { BudgetPeriod } from '../costs.ts'

/** What a key may spend, in units of the currency. */
export interface KeyBudget {
  readonly per: BudgetPeriod
  readonly amount: number
  /** Default: `refuse`. */
  readonly action?: 'warn' | 'refuse'
}

/** A stored API key, without the key itself. */
export interface StoredKey {
  readonly id: string
  readonly hash: string
  readonly tenant: string
  readonly name: string
  /** A built-in role, or one of the configuration. */
  readonly role: string
  /** Fewer scopes than the role has, or `installation`. */
  readonly scopes: readonly string[] | null
  /** Patterns of the tools that it may use; null: all of the tenant. */
  readonly tools: readonly string[] | null
  /** Patterns of the models that it may use; null: all that are configured. */
  readonly models: readonly string[] | null
  /** Overrides `limits.calls_per_minute`. */
  readonly calls_per_minute: number | null
  readonly budget?: KeyBudget | null
  readonly created_at: string
  /** The id of the key that created it; null for the user of the machine. */
  readonly created_by: string | null
  readonly expires_at: string | null
  readonly revoked_at: string | null
}

/** A user of the configured issuer, by the latest token or sign-in. */
export interface StoredUser {
  readonly id: string
  readonly tenant: string
  /** The `sub` of the issuer. */
  readonly subject: string
  readonly name: string
  readonly role: string
  /** The settings and the claim that the role comes from, as a hash. */
  readonly basis: string
  /** When the token that says so was issued. Older ones don't replace it. Milliseconds since 1970. */
  readonly issued_at: number
  /** What the user has started may go on until then. Milliseconds since 1970. */
  readonly expires_at: number
  /** When the user was last signed out by an administrator: older tokens are refused. Milliseconds since 1970. */
  readonly revoked_at: number | null
}

/** The former secret of a key that was rotated. A key has one at most. */
export interface FormerSecret {
  readonly hash: string
  /** The id of the key. */
  readonly id: string
  /** It is accepted until then. */
  readonly until: string
}

/**
 * What must hold for a key to be created: there has never been one, or its tenant has fewer than a maximum of keys, counting
 * those that were revoked after a time.
 */
export type KeyRule = 'first' | { readonly max: number; readonly since: string }

export interface KeyStore {
  /** Includes revoked keys. */
  list(): Promise<readonly StoredKey[]>
  /** Returns false if the rule doesn't hold. No other key is created between the check and the change. */
  create(key: StoredKey, rule?: KeyRule): Promise<boolean>
  /** Replaces the rights and the name of a key. Returns false if the key was changed or revoked since `before` was read. */
  change(before: StoredKey, after: StoredKey): Promise<boolean>
  /** Also ends the sessions of the key. Returns false if there is no such key. Revoking twice changes nothing. */
  revoke(id: string, at: string): Promise<boolean>
  /** Makes a key valid again that was revoked at this time or later. Its sessions stay ended. Returns false if there is none. */
  restore(id: string, since: string): Promise<boolean>
  /**
   * Gives a valid key another secret. The former one is accepted until a time, and an earlier one isn't any more. Also ends
   * the sessions of the key. Returns false if the key was rotated or revoked since `before` was read.
   */
  rotate(before: Pick<StoredKey, 'id' | 'hash'>, hash: string, until: string): Promise<boolean>
  /** Includes those that aren't accepted any more. */
  formerSecrets(): Promise<readonly FormerSecret[]>
  /** Includes users that have expired and were not removed yet. */
  users(): Promise<readonly StoredUser[]>
  /** Replaces the user with the same id, unless its token is newer. Doesn't change `revoked_at`. */
  putUser(user: Omit<StoredUser, 'revoked_at'>): Promise<void>
  /** Also ends the sessions of the user. The user need not be stored: a token may be older than any that was used. */
  revokeUser(user: Pick<StoredUser, 'id' | 'tenant'>, at: number): Promise<void>
}

/** A browser that is signed in, without the id that its cookie holds. Times are milliseconds since 1970. */
export interface StoredSession {
  readonly hash: string
  /** The id of the key or the user. */
  readonly caller: string
  /** The session ends then, unless it is used before. */
  readonly expires_at: number
  /** It ends then, however it is used. */
  readonly ends_at: number
}

export interface SessionStore {
  /** Stores a session. If the key then has more than `max`, those that expire first end. */
  start(session: StoredSession, max: number): Promise<void>
  /** Includes sessions that have expired and were not removed yet. */
  get(hash: string): Promise<StoredSession | undefined>
  extend(hash: string, expiresAt: number): Promise<void>
  end(hash: string): Promise<void>
}
