import type {
  AuditReport,
  AuditSummary,
  DeniedCalls,
  SummarisedEvent,
  SummaryQuery,
  ToolUsage,
} from '../../core/storage/ledger.ts'
import type { ChainRow, Seal } from './ledger-tables.ts'
import type { ChainVisitor } from './verify-chain.ts'

/** Bounds the memory: callers decide how many rows, names and events there are. */
const MAX_GROUPS = 10_000
const MAX_EVENTS = 5_000
const DAY_MS = 86_400_000

/** Failures that say that the caller may not, or not now. */
const DENIED: ReadonlySet<string | null> = new Set([
  'PERMISSION_DENIED',
  'APPROVAL_REQUIRED',
  'CONNECTION_REQUIRED',
  'RATE_LIMITED',
])

/** Callers make up the names of tools that don't exist. */
const UNKNOWN = '(unknown tools)'

/** Events that anybody can cause. They must not push out the changes. */
const ACCESS: ReadonlySet<string> = new Set(['key.refused', 'session.started', 'tenant.crossed', 'user.acted_for'])

type Writable<Value> = { -readonly [Field in keyof Value]: Value[Field] }
/** The cost is in millionths of the currency until the end, so that sums are exact. */
type Sum = Writable<AuditSummary['totals']>
type EventList = 'approvals' | 'changes' | 'access' | 'alerts'

/** Adds up the rows of a time while the chains are verified, in bounded memory. */
export class SummaryVisitor implements ChainVisitor {
  readonly #query: SummaryQuery
  readonly #totals = noCalls()
  readonly #days = new Map<number, Sum>()
  readonly #usage = new Groups<Sum & Span>()
  readonly #denied = new Groups<{ calls: number } & Span>()
  readonly #events: Record<EventList, SummarisedEvent[]> = { approvals: [], changes: [], access: [], alerts: [] }
  readonly #leftOut = { usage: 0, denied: 0, approvals: 0, changes: 0, access: 0, alerts: 0 }
  #first = Number.POSITIVE_INFINITY
  #removedUntil = Number.NEGATIVE_INFINITY

  constructor(query: SummaryQuery) {
    this.#query = query
  }

  seal({ expiredAt, lastAt }: Seal): void {
    if (expiredAt !== null) this.#removedUntil = Math.max(this.#removedUntil, lastAt)
  }

  row(row: ChainRow): void {
    const { tenant, from, to } = this.#query
    this.#first = Math.min(this.#first, row.at)
    if (row.at < from || row.at >= to || (tenant !== undefined && row.tenant !== tenant)) return
    if (row.event === null) this.#call(row)
    else this.#event(row, row.event)
  }

  summary(integrity: AuditReport): AuditSummary {
    const byTime = (one: SummarisedEvent, other: SummarisedEvent) => (one.time < other.time ? -1 : 1)
    return {
      first_row: timeOf(this.#first),
      removed_until: timeOf(this.#removedUntil),
      totals: priced(this.#totals),
      days: [...this.#days]
        .sort(([one], [other]) => one - other)
        .map(([day, sum]) => ({ day: new Date(day * DAY_MS).toISOString().slice(0, 10), ...priced(sum) })),
      usage: this.#usage.list<ToolUsage>(['tenant', 'caller', 'key', 'tool']).map(priced),
      denied: this.#denied.list<DeniedCalls>(['tenant', 'caller', 'tool', 'error_code']),
      approvals: this.#events.approvals.sort(byTime),
      changes: this.#events.changes.sort(byTime),
      access: this.#events.access.sort(byTime),
      alerts: this.#events.alerts.sort(byTime),
      left_out: this.#leftOut,
      integrity,
    }
  }

  #call(row: ChainRow): void {
    const { at, tenant, caller, code } = row
    const tool = code === 'TOOL_NOT_FOUND' ? UNKNOWN : row.tool
    const day = Math.floor(at / DAY_MS)
    const sum = this.#days.get(day) ?? noCalls()
    this.#days.set(day, sum)
    count(this.#totals, row)
    count(sum, row)
    const usage = this.#usage.of([tenant, caller, row.key, tool], at, noCalls)
    if (usage === undefined) this.#leftOut.usage++
    else count(usage, row)
    if (code === null || !DENIED.has(code)) return
    const denied = this.#denied.of([tenant, caller, tool, code], at, () => ({ calls: 0 }))
    if (denied === undefined) this.#leftOut.denied++
    else denied.calls++
  }

  #event(row: ChainRow, event: string): void {
    const [kind] = event.split('.')
    const list =
      kind === 'approval' ? 'approvals' : kind === 'alert' ? 'alerts' : ACCESS.has(event) ? 'access' : 'changes'
    if (this.#events[list].length >= MAX_EVENTS) {
      this.#leftOut[list]++
      return
    }
    const { chain, seq, at, tenant, caller, source, subject, outcome, attempts, detail } = row
    const time = new Date(at).toISOString()
    const id = `${chain}:${seq}`
    this.#events[list].push({ id, time, tenant, caller, source, event, subject, outcome, attempts, detail })
  }
}

interface Span {
  from: number
  until: number
}

/** Sums by names, up to a limit of names. */
class Groups<Sum extends object> {
  readonly #sums = new Map<string, Sum & Span>()

  /** Undefined if there are too many others. */
  of(names: readonly (string | null)[], at: number, make: () => Omit<Sum, keyof Span>): (Sum & Span) | undefined {
    const key = JSON.stringify(names)
    let sum = this.#sums.get(key)
    if (sum === undefined) {
      if (this.#sums.size >= MAX_GROUPS) return undefined
      sum = { ...make(), from: at, until: at } as Sum & Span
      this.#sums.set(key, sum)
    }
    if (at < sum.from) sum.from = at
    if (at > sum.until) sum.until = at
    return sum
  }

  /** Sorted by names. */
  list<Entry>(fields: readonly (keyof Entry)[]): readonly Entry[] {
    return [...this.#sums.entries()]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, { from, until, ...sum }]) => {
        const names = JSON.parse(key) as (string | null)[]
        const named = Object.fromEntries(fields.map((field, index) => [field, names[index]]))
        return { ...named, ...sum, first: timeOf(from), last: timeOf(until) } as Entry
      })
  }
}

const noCalls = (): Sum => ({ calls: 0, failed: 0, unknown: 0, denied: 0, cost: null })

function count(sum: Sum, { code, outcome, cost }: ChainRow): void {
  sum.calls++
  if (cost !== null) sum.cost = (sum.cost ?? 0) + cost
  if (DENIED.has(code)) sum.denied++
  else if (outcome === 'unknown') sum.unknown++
  else if (outcome === 'failure') sum.failed++
}

const priced = <S extends { readonly cost: number | null }>(sum: S): S => ({
  ...sum,
  cost: sum.cost === null ? null : sum.cost / 1e6,
})

const timeOf = (at: number): string | null => (Number.isFinite(at) ? new Date(at).toISOString() : null)
