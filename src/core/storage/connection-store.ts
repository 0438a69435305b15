/** The account of a user at a provider. Times are milliseconds since 1970. */
export interface ConnectionKey {
  readonly tenant: string
  /** The id of the user or the API key, as a caller. */
  readonly user: string
  readonly provider: string
}

export interface Tokens {
  /** Encrypted JSON. */
  readonly tokens: string
  /** The granted scopes, separated by spaces. */
  readonly scopes: string
  /** When the access token expires; null if that is unknown. */
  readonly expires_at: number | null
}

export interface StoredConnection extends ConnectionKey, Tokens {
  /** Grows with every change. */
  readonly version: number
  /** The provider refused to renew the tokens: the user has to connect again. */
  readonly broken: boolean
  readonly created_at: number
  readonly updated_at: number
}

/** An authorization that a user has started. */
export interface ConnectFlow extends ConnectionKey {
  /** The id of the link that started it: no link starts two. */
  readonly id: string
  readonly state_hash: string
  /** The code verifier of PKCE, encrypted. */
  readonly verifier: string
  readonly expires_at: number
}

/** A stored text, encrypted with an older key. */
export interface SealedText {
  readonly table: string
  readonly column: string
  readonly key: readonly unknown[]
  /** The place that it was sealed for. */
  readonly place: string
  readonly text: string
}

export interface ConnectionStore {
  /** Those of one user, or of a whole tenant, in a fixed order. */
  list(tenant: string, user: string | undefined, limit: number): Promise<readonly StoredConnection[]>
  get(key: ConnectionKey): Promise<StoredConnection | undefined>
  /** Replaces the connection of the user. Rejects with RATE_LIMITED if the tenant already has `max`. */
  put(key: ConnectionKey, tokens: Tokens, now: number, max: number): Promise<void>
  /** Returns whether the caller alone may renew this version, until then. */
  lease(key: ConnectionKey, version: number, now: number, until: number): Promise<boolean>
  /** Stores renewed tokens, or marks the connection as broken. Ends the lease. Returns false if it has changed meanwhile. */
  renew(key: ConnectionKey, version: number, tokens: Tokens | 'broken', now: number): Promise<boolean>
  /** Ends the lease of a failed attempt. */
  release(key: ConnectionKey, version: number): Promise<void>
  /** Returns what was removed. */
  remove(key: ConnectionKey): Promise<StoredConnection | undefined>
  /** Returns false if the link has started one before. Rejects with RATE_LIMITED if the user already has `max`. */
  begin(flow: ConnectFlow, now: number, max: number): Promise<boolean>
  /** Takes a flow, which works once. Undefined if there is none, or it has expired. */
  finish(stateHash: string, now: number): Promise<ConnectFlow | undefined>
  /** Texts of all tables that are encrypted with another key than this one. */
  sealed(keyId: string, limit: number): Promise<readonly SealedText[]>
  /** Returns false if the text has changed meanwhile. */
  reseal(sealed: SealedText, text: string): Promise<boolean>
}
