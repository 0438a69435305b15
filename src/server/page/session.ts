import type { Scope } from '../../config/callers/scopes.ts'

/** Whom the page talks for: nobody yet, the person at this machine, or the holder of a key. */
export interface Session {
  readonly state: 'signed_out' | 'local' | 'signed_in'
  /** The id of the key, or `local`. */
  readonly id?: string
  readonly name?: string
  readonly tenant?: string
  readonly role?: string
  readonly scopes: readonly Scope[]
  /** Of the server. */
  readonly version: string
}
