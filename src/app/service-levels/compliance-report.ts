import type { Clock } from '../../core/clock.ts'
import type { AuditSummary, SummaryQuery } from '../../core/storage/ledger.ts'
import type { Storage } from '../../core/storage/storage.ts'
import type { ObjectiveReader, ObjectiveReport } from './objectives.ts'

/** Who used what and when, what was changed, and whether the audit log is intact. */
export interface ComplianceReport extends AuditSummary {
  readonly generated_at: string
  readonly from: string
  readonly to: string
  /** Null: all tenants. */
  readonly tenant: string | null
  /** From when rows exist, if not for the whole time; else null. */
  readonly notice: string | null
  /** The names and roles of keys by id, also of revoked ones. */
  readonly keys: Readonly<Record<string, { readonly name: string; readonly role: string }>>
  /** As of `generated_at`. */
  readonly objectives: readonly ObjectiveReport[]
}

interface ReportParts {
  readonly storage: Pick<Storage, 'ledger' | 'keys'>
  readonly objectives: Pick<ObjectiveReader, 'report'>
  readonly clock: Clock
}

/** Reads the audit log once. */
export async function complianceReport(
  query: SummaryQuery,
  { storage, objectives, clock }: ReportParts,
): Promise<ComplianceReport> {
  const { tenant, from, to } = query
  const summary = await storage.ledger.summary(query)
  const keys = (await storage.keys.list()).filter((key) => tenant === undefined || key.tenant === tenant)
  return {
    generated_at: new Date(clock.wall()).toISOString(),
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    tenant: tenant ?? null,
    notice: noticeOf(summary, from),
    keys: Object.fromEntries(keys.map(({ id, name, role }) => [id, { name, role }])),
    objectives: await objectives.report(tenant),
    ...summary,
  }
}

function noticeOf({ first_row, removed_until }: AuditSummary, from: number): string | null {
  if (removed_until !== null && Date.parse(removed_until) >= from) {
    return `Rows exist from ${removed_until} on: older ones were removed after storage.audit_days`
  }
  if (first_row === null) return 'The audit log has no rows'
  return Date.parse(first_row) > from ? `Rows exist from ${first_row} on: nothing was recorded before` : null
}
