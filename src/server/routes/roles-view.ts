import type { Scope } from '../../config/callers/scopes.ts'
import type { Role } from '../../core/storage/key-store.ts'

/** What keys can be allowed. */
export interface RolesView {
  readonly roles: readonly { readonly name: Role; readonly scopes: readonly Scope[] }[]
  readonly scopes: readonly { readonly name: Scope; readonly allows: string }[]
}
