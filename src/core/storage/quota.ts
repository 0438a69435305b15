import { ToolExecutionError } from '../tool-result.ts'

/** What one tenant may store. */
export interface Quota {
  /** Jobs that wait or run. */
  readonly queued_jobs: number
  /** Durable runs that wait or run. */
  readonly durable_runs: number
  /** Documents of all collections. */
  readonly documents: number
  /** Texts and vectors of documents, jobs, chats and durable runs, and what people save in the web UI. */
  readonly storage_bytes: number
  /** Runs: the oldest ones are removed, so that none is refused. */
  readonly stored_runs: number
}

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
