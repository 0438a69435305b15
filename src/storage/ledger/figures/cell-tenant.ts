/** The sum over all tenants. */
export const ALL_TENANTS = '*'

/** The name of a tenant in cells: one that is itself called `*` is not the sum of all. */
export const cellTenant = (tenant: string): string => (tenant.startsWith(ALL_TENANTS) ? ALL_TENANTS + tenant : tenant)
