import type { FastifyRequest } from 'fastify'
import { HttpProblem } from './http-problem.ts'

/** The part of a query by which one who may see the whole installation asks for others than its own tenant. */
export const TENANT_QUERY = {
  tenant: {
    type: 'string',
    minLength: 1,
    maxLength: 64,
    description: "Another tenant, or * for all: only with the scope 'installation'. Your own if not given.",
  },
} as const

/** Whose figures or records a request may have: those of one tenant, or, as undefined, of all. */
export function tenantAsked({ caller }: FastifyRequest, tenant: string | undefined): string | undefined {
  if (tenant === undefined || tenant === caller.tenant) return caller.tenant
  if (!caller.scopes.has('installation')) {
    throw new HttpProblem(403, "Only a key with the scope 'installation' may ask for other tenants")
  }
  return tenant === '*' ? undefined : tenant
}
