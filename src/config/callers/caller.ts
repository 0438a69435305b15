import type { Role } from '../../core/storage/key-store.ts'
import type { Scope } from './scopes.ts'

/** Who is at the other end, and what it may do. */
export interface Caller {
  /** The id of its key, or `local`. */
  readonly id: string
  readonly tenant: string
  readonly name: string
  readonly role: Role
  readonly scopes: ReadonlySet<Scope>
  /** Calls a minute, where that differs from the installation's. */
  readonly callsPerMinute: number | undefined
}
