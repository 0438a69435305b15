import { queryOptions } from '@tanstack/react-query'
import type { ListedTenant } from '../../../src/app/callers/tenants.ts'
import type { ShownKey } from '../../../src/operations/key-rules.ts'
import type { RolesView } from '../../../src/operations/tenants.ts'
import type { ShownUser } from '../../../src/operations/users.ts'
import type { PackagesView } from '../../../src/server/http/views.ts'
import { requestJson } from '../api/request.ts'

/** A new key with its secret, returned once. */
export interface MadeKey extends ShownKey {
  readonly key: string
}

/** A flag to store for a tenant; null removes it. */
export interface FlagChange {
  readonly tenant: string
  readonly flag: string
  readonly value: boolean | null
}

export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: ({ signal }) => requestJson<{ keys: ShownKey[] }>('/api/keys', { signal }),
  select: ({ keys }) => keys,
})

export const usersQuery = queryOptions({
  queryKey: ['users'],
  queryFn: ({ signal }) => requestJson<{ users: ShownUser[] }>('/api/users', { signal }),
  select: ({ users }) => users,
})

export const tenantsQuery = queryOptions({
  queryKey: ['tenants'],
  queryFn: ({ signal }) => requestJson<{ tenants: ListedTenant[] }>('/api/tenants', { signal }),
  select: ({ tenants }) => tenants,
})

export const packagesQuery = queryOptions({
  queryKey: ['packages'],
  queryFn: ({ signal }) => requestJson<PackagesView>('/api/packages', { signal }),
})

export const rolesQuery = queryOptions({
  queryKey: ['roles'],
  queryFn: ({ signal }) => requestJson<RolesView>('/api/roles', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
})
