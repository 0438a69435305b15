/** The sum over all tenants. */
export const ALL_TENANTS = '*'

/** The name of a tenant in cells: one that is itself called `*` is not the sum of all. */
export const cellTenant = (tenant: string): string => (tenant.startsWith(ALL_TENANTS) ? ALL_TENANTS + tenant : tenant)

/** The name of the cells that answer a question about a tenant, or about all. */
export const queryTenant = (tenant: string | undefined): string =>
  tenant === undefined ? ALL_TENANTS : cellTenant(tenant)
