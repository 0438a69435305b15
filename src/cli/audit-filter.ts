import type { AuditFilter, AuditRow } from '../core/storage/ledger.ts'
import type { GlobalOptions } from './global-options.ts'
import { printableLine } from './printable.ts'
import { UsageError } from './usage-error.ts'

/** The options that choose rows of the audit. */
export interface AuditOptions extends GlobalOptions {
  readonly tenant?: string
  readonly tool?: string
  readonly caller?: string
  readonly run?: string
  readonly outcome?: AuditRow['outcome']
  readonly errorCode?: string
  readonly from?: string
  readonly to?: string
}

/** What the options choose; without a tenant rows of all. */
export function auditFilter(options: AuditOptions): Omit<AuditFilter, 'limit'> {
  const { tenant, tool, caller, run, outcome, errorCode, from, to } = options
  return {
    tenant,
    ...(tool !== undefined && { tool }),
    ...(caller !== undefined && { caller }),
    ...(run !== undefined && { runId: run }),
    ...(outcome !== undefined && { outcome }),
    ...(errorCode !== undefined && { errorCode }),
    ...(from !== undefined && { from: readTime('--from', from) }),
    ...(to !== undefined && { to: readTime('--to', to) }),
  }
}

function readTime(option: string, text: string): number {
  const time = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN
  if (!Number.isNaN(time)) return time
  throw new UsageError(
    `${option} takes a time such as 2026-01-31 or 2026-01-31T12:00:00Z, not '${printableLine(text)}'.`,
  )
}
