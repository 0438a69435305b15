import type {
  AuditReport,
  AuditSummary,
  DeniedCalls,
  SummarisedEvent,
  SummaryQuery,
  ToolUsage,
} from '../../core/storage/ledger.ts'
import { codesWith } from '../../core/tool-result.ts'
import type { ChainRow, Seal } from './ledger-tables.ts'
import type { ChainVisitor } from './verify-chain.ts'

/** Bound the memory: callers decide how many rows, names and events there are. */
const MAX_GROUPS = 10_000
const MAX_EVENTS = 5_000
const DAY_MS = 86_400_000

/** Failures that say that the caller may not, or not now. */
const DENIED: ReadonlySet<string | null> = new Set(
  codesWith(({ refused }) => refused === 'denied' || refused === 'waits'),
)

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
  readonly #events: Readonly<Record<EventList, Shares<SummarisedEvent>>> = {
    approvals: new Shares(MAX_EVENTS),
    changes: new Shares(MAX_EVENTS),
    access: new Shares(MAX_EVENTS),
    alerts: new Shares(MAX_EVENTS),
  }
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
    const { approvals, changes, access, alerts } = this.#events
    const byTime = (events: Shares<SummarisedEvent>) =>
      [...events.values()].sort((one, other) => (one.time < other.time ? -1 : 1))
    return {
      first_row: timeOf(this.#first),
      removed_until: timeOf(this.#removedUntil),
      totals: priced(this.#totals),
      days: [...this.#days]
        .sort(([one], [other]) => one - other)
        .map(([day, sum]) => ({ day: new Date(day * DAY_MS).toISOString().slice(0, 10), ...priced(sum) })),
      usage: this.#usage.list<ToolUsage>(['tenant', 'caller', 'key', 'tool']).map(priced),
      denied: this.#denied.list<DeniedCalls>(['tenant', 'caller', 'tool', 'error_code']),
      approvals: byTime(approvals),
      changes: byTime(changes),
      access: byTime(access),
      alerts: byTime(alerts),
      left_out: {
        ...{ usage: this.#usage.leftOut, denied: this.#denied.leftOut, approvals: approvals.leftOut },
        ...{ changes: changes.leftOut, access: access.leftOut, alerts: alerts.leftOut },
      },
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
    if (usage !== undefined) count(usage, row)
    if (code === null || !DENIED.has(code)) return
    const denied = this.#denied.of([tenant, caller, tool, code], at, () => ({ calls: 0 }))
    if (denied !== undefined) denied.calls++
  }

  #event(row: ChainRow, event: string): void {
    const [kind] = event.split('.')
    const list =
      kind === 'approval' ? 'approvals' : kind === 'alert' ? 'alerts' : ACCESS.has(event) ? 'access' : 'changes'
    const { chain, seq, at, tenant, caller, source, subject, outcome, attempts, detail } = row
    const time = new Date(at).toISOString()
    const id = `${chain}:${seq}`
    this.#events[list].of(tenant, id, () => ({
      ...{ id, time, tenant, caller, source, event, subject, outcome, attempts, detail },
    }))
  }
}

interface Span {
  from: number
  until: number
}

/** The entries of a tenant, in the order in which they came. */
interface Share<Entry> {
  readonly entries: Map<string, Entry>
  readonly names: string[]
}

/**
 * Entries of tenants, up to a limit. No tenant can take the places of others: if all are taken, a tenant that has less than
 * its share gets that of the latest entry of the tenant that has most.
 */
class Shares<Entry> {
  readonly #tenants = new Map<string, Share<Entry>>()
  readonly #max: number
  #size = 0
  /** How many entries, or what they count, are left out. */
  leftOut = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Undefined if it is left out. */
  of(tenant: string, name: string, make: () => Entry): Entry | undefined {
    let own = this.#tenants.get(tenant)
    if (own === undefined) {
      own = { entries: new Map(), names: [] }
      this.#tenants.set(tenant, own)
    }
    let entry = own.entries.get(name)
    if (entry !== undefined) return entry
    if (this.#size >= this.#max && !this.#makeRoom(own.names.length)) {
      this.leftOut++
      return undefined
    }
    entry = make()
    own.entries.set(name, entry)
    own.names.push(name)
    this.#size++
    return entry
  }

  *values(): Generator<Entry> {
    for (const { entries } of this.#tenants.values()) yield* entries.values()
  }

  *entries(): Generator<[name: string, entry: Entry]> {
    for (const { entries } of this.#tenants.values()) yield* entries
  }

  #makeRoom(own: number): boolean {
    if (own >= Math.floor(this.#max / this.#tenants.size)) return false
    let largest: Share<Entry> | undefined
    for (const share of this.#tenants.values()) {
      if (largest === undefined || share.names.length > largest.names.length) largest = share
    }
    const name = largest?.names.pop() as string
    this.leftOut += weightOf(largest?.entries.get(name))
    largest?.entries.delete(name)
    this.#size--
    return true
  }
}

const weightOf = (entry: unknown): number => (entry as { calls?: number } | undefined)?.calls ?? 1

/** Sums by names, the tenant first. */
class Groups<Sum extends object> {
  readonly #sums = new Shares<Sum & Span>(MAX_GROUPS)

  /** How many calls are in no sum. */
  get leftOut(): number {
    return this.#sums.leftOut
  }

  /** Undefined if there are too many others. */
  of(
    names: readonly [tenant: string, ...(string | null)[]],
    at: number,
    make: () => Omit<Sum, keyof Span>,
  ): (Sum & Span) | undefined {
    const name = JSON.stringify(names)
    const sum = this.#sums.of(names[0], name, () => ({ ...make(), from: at, until: at }) as Sum & Span)
    if (sum === undefined) return undefined
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

const noCalls = (): Sum => ({ calls: 0, failed: 0, unknown: 0, denied: 0, cost: null, unknown_costs: 0 })

function count(sum: Sum, { code, outcome, cost, attempts }: ChainRow): void {
  sum.calls++
  if (cost !== null) sum.cost = (sum.cost ?? 0) + cost
  // Refused calls and cached results cost nothing.
  else if (attempts > 0) sum.unknown_costs++
  if (DENIED.has(code)) sum.denied++
  else if (outcome === 'unknown') sum.unknown++
  else if (outcome === 'failure') sum.failed++
}

const priced = <S extends { readonly cost: number | null }>(sum: S): S => ({
  ...sum,
  cost: sum.cost === null ? null : sum.cost / 1e6,
})

const timeOf = (at: number): string | null => (Number.isFinite(at) ? new Date(at).toISOString() : null)
