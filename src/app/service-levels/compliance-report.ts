import type { Clock } from '../../core/clock.ts'
import type { AuditSummary, SummaryQuery } from '../../core/storage/ledger.ts'
import type { Storage } from '../../storage/sql/engine.ts'
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
  /** What the turns of models cost, in whole days of UTC: the audit rows have the cost of calls only. */
  readonly models: readonly {
    readonly model: string
    readonly turns: number
    /** Turns without a known price. */
    readonly unknown: number
    /** In units of the currency; null if the cost of all turns is unknown. */
    readonly cost: number | null
  }[]
  /** As of `generated_at`. */
  readonly objectives: readonly ObjectiveReport[]
}

interface ReportParts {
  readonly storage: Pick<Storage, 'ledger' | 'keys' | 'spending'>
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
    models: await modelCosts(query, storage.spending),
    objectives: await objectives.report(tenant),
    ...summary,
  }
}

const DAY_MS = 86_400_000
const MAX_MODELS = 1_000

async function modelCosts(
  { tenant, from, to }: SummaryQuery,
  spending: Storage['spending'],
): Promise<ComplianceReport['models']> {
  const [first, end] = [Math.floor(from / DAY_MS) * DAY_MS, Math.ceil(to / DAY_MS) * DAY_MS]
  const { names } = await spending.report({ tenant, by: 'model', from: first, to: end, limit: MAX_MODELS })
  return names.map(({ name, calls, unknown, spent }) => ({
    model: name,
    turns: calls,
    unknown,
    cost: unknown === calls ? null : spent / 1e6,
  }))
}

function noticeOf({ first_row, removed_until }: AuditSummary, from: number): string | null {
  if (removed_until !== null && Date.parse(removed_until) >= from) {
    return `The oldest row is from ${removed_until}: older ones were removed after storage.audit_days`
  }
  if (first_row === null) return 'The audit log has no rows'
  return Date.parse(first_row) > from ? `The oldest row is from ${first_row}: nothing was recorded before` : null
}
