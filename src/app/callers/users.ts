import { hash } from 'node:crypto'
import type { OidcConfig } from '../../config/service-schema.ts'
import type { Clock } from '../../core/clock.ts'
import { USABLE_MS } from '../../core/execution/approvals.ts'
import type { StoredUser } from '../../core/storage/key-store.ts'

const HOUR = 3_600_000
/** What users have started may go on for so long after their last request. */
export const USER_WORK_MS = 12 * HOUR
/** A user is stored again once an hour, not with every request. */
const STORE_EVERY_MS = HOUR
const USER_ID = /^user:([\w.-]{1,64})\/[^/\s]{1,255}$/
export const MAX_SUBJECT_LENGTH = 255
/** How far the clocks of issuer and server may differ. */
export const CLOCK_TOLERANCE_MS = 30_000

/** The id of a user as a caller: safe in logs and tables, different for each tenant. */
export function userId(tenant: string, subject: string): string {
  const text = encodeURIComponent(subject)
  // No encoded text contains "=".
  return `user:${tenant}/${text.length <= MAX_SUBJECT_LENGTH ? text : `=${hash('sha256', subject)}`}`
}

/** The tenant of a user, by the id; undefined if it is no user. */
export const tenantOfUser = (id: string): string | undefined => USER_ID.exec(id)?.[1]

/** What the role of a user comes from: if any of it changes, the user has to sign in again. */
export function basisOf(settings: OidcConfig, claim: string): string {
  const { issuer, audience, client_id, tenant_claim, role_claim, user_claim } = settings
  const others = user_claim === undefined ? [] : [user_claim]
  return hash('sha256', JSON.stringify([issuer, audience, client_id, tenant_claim, role_claim, claim, ...others]))
}

/** A user whose token or sign-in was verified. */
export type SignedIn = Omit<StoredUser, 'id' | 'expires_at' | 'revoked_at'>

/** The users who have signed in at the identity provider. */
export class Users {
  readonly #clock: Clock
  readonly #users = new Map<string, StoredUser>()
  /** When users were signed out by an administrator, by id. */
  readonly #revoked = new Map<string, number>()
  /** The roles that users can have, by what they come from. */
  #bases: ReadonlyMap<string, string> = new Map()
  #signIn = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether users can sign in. */
  get signIn(): boolean {
    return this.#signIn
  }

  configure(oidc: OidcConfig | undefined): void {
    this.#signIn = oidc !== undefined
    this.#bases = new Map(oidc && Object.entries(oidc.roles).map(([claim, role]) => [basisOf(oidc, claim), role]))
  }

  load(users: readonly StoredUser[]): void {
    for (const user of users) {
      if (user.revoked_at !== null) this.#revoked.set(user.id, user.revoked_at)
      if ((this.#users.get(user.id)?.expires_at ?? 0) < user.expires_at) this.#users.set(user.id, user)
    }
  }

  find(id: string): StoredUser | undefined {
    return this.#users.get(id)
  }

  /** Forgets those whose work can't go on any more. */
  all(): Iterable<StoredUser> {
    for (const { id, expires_at } of this.#users.values()) {
      if (expires_at + USABLE_MS <= this.#clock.wall()) this.#users.delete(id)
    }
    return this.#users.values()
  }

  /** Whether the configuration still gives the user its role, and nobody has signed the user out. */
  isSignedIn(user: StoredUser): boolean {
    return this.#qualifies(user) && !this.isRevoked(user.id, user.issued_at)
  }

  #qualifies({ basis, role }: StoredUser): boolean {
    return this.#bases.get(basis) === role
  }

  /** Whether an administrator has signed the user out since the token was issued. */
  isRevoked(id: string, issuedAt: number): boolean {
    return issuedAt <= (this.#revoked.get(id) ?? Number.NEGATIVE_INFINITY) + CLOCK_TOLERANCE_MS
  }

  /** Returns what has to be stored; undefined if that was done less than an hour ago. */
  add(user: SignedIn): StoredUser | undefined {
    const id = userId(user.tenant, user.subject)
    const until = this.#clock.wall() + USER_WORK_MS
    const known = this.#users.get(id)
    const isSame = known?.role === user.role && known.name === user.name && known.basis === user.basis
    // A token from before the role changed is valid until it expires, for its own requests only.
    const isOlder = known !== undefined && known.issued_at > user.issued_at && this.#qualifies(known)
    // A user who was signed out is stored again at once: until then the user is unknown to sessions and jobs.
    const isStored = isSame && known.expires_at >= until && !this.isRevoked(id, known.issued_at)
    if (isOlder || isStored) return undefined
    const stored = { ...user, id, expires_at: until + STORE_EVERY_MS, revoked_at: null }
    this.#users.set(id, stored)
    return stored
  }
}
