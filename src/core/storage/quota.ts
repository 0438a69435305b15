import type { Described } from '../json/described.ts'
import { ToolExecutionError } from '../tool-result.ts'

/** The key `quota` of a tenant. */
export const QUOTA_SCHEMA = {
  type: 'object',
  description: 'Quotas of this tenant, instead of those in limits.',
  additionalProperties: false,
  properties: {
    queued_jobs: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000_000,
      description: 'Jobs of one tenant that wait or run. Default: 1000.',
    },
    durable_runs: {
      type: 'integer',
      minimum: 0,
      description: 'Durable runs of one tenant that wait or run. Default: 10000.',
    },
    documents: { type: 'integer', minimum: 0, description: 'Documents of one tenant. Default: 100000.' },
    storage_bytes: {
      type: 'integer',
      minimum: 0,
      description: 'Documents, jobs, chats, durable runs and payloads of one tenant. Default: 1 GB.',
    },
    stored_runs: {
      type: 'integer',
      minimum: 1,
      description: 'Stored runs of one tenant. The oldest ones are removed. Default: 10000.',
    },
  },
} as const

/** What one tenant may store. */
export interface Quota extends Required<Described<typeof QUOTA_SCHEMA>> {}

export const DEFAULT_QUOTA: Quota = {
  queued_jobs: 1_000,
  durable_runs: 10_000,
  documents: 100_000,
  storage_bytes: 1_000_000_000,
  stored_runs: 10_000,
}

/** What a tenant has stored. */
export type StoredUsage = Omit<Quota, 'stored_runs'>

const ADVICE: Readonly<Record<keyof StoredUsage, string>> = {
  durable_runs: 'Decide its approvals, or cancel some',
  queued_jobs: 'Wait until some have ended, or cancel some',
  documents: 'Remove documents that are no longer needed',
  storage_bytes: 'Remove documents, or wait until ended jobs, chats and durable runs expire',
}

/** Throws RATE_LIMITED if a tenant would store more than its quota. */
export function checkQuota(tenant: string, quota: Quota, usage: StoredUsage, more: Partial<StoredUsage>): void {
  for (const [name, added] of Object.entries(more) as [keyof StoredUsage, number][]) {
    if (added === 0 || usage[name] + added <= quota[name]) continue
    throw new ToolExecutionError(
      'RATE_LIMITED',
      `Tenant '${tenant}' has reached its quota '${name}': it uses ${usage[name]} of ${quota[name]}, and ${added} more ` +
        `would exceed it. ${ADVICE[name]}, or ask the operator to raise tenants.${tenant}.quota.${name}`,
    )
  }
}
