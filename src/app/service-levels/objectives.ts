import type { Config } from '../../config/config.ts'
import type { ObjectiveConfig } from '../../config/service-schema.ts'
import { type Clock, within } from '../../core/clock.ts'
import { matchesGlobs } from '../../core/execution/permit.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type { CallCounts, Ledger, ObjectiveCalls, VersionCall } from '../../core/storage/ledger.ts'
import type { SettingStore } from '../../core/storage/setting-store.ts'
import { codesWith } from '../../core/tool-result.ts'
import type { AuditEvents } from '../callers/audit-events.ts'

/** Failures that spend no error budget: the caller's mistakes, refusals, and calls that the caller cancelled. */
export const NOT_COUNTED = codesWith(({ ofCaller }) => ofCaller)

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const WINDOWS = { '5m': 5 * MINUTE_MS, '1h': HOUR_MS, '6h': 6 * HOUR_MS, '3d': 3 * DAY_MS } as const
type AlertWindow = keyof typeof WINDOWS
const WINDOW_NAMES = Object.keys(WINDOWS) as AlertWindow[]

/**
 * An alert opens if the burn rates of both windows reach the factor. It is resolved when that of the short one has been
 * below half of the factor for `calmMs`, so that a rate around the factor opens one alert and not many.
 */
const RULES = [
  { severity: 'fast', short: '5m', long: '1h', factor: 14.4, calmMs: 15 * MINUTE_MS },
  { severity: 'slow', short: '6h', long: '3d', factor: 1, calmMs: HOUR_MS },
] as const

const DEFAULT_WINDOW = '30d'
const DEFAULT_MIN_CALLS = 20
/** The share of calls that may take longer than the 95th percentile. */
const SLOW_SHARE = 0.05
const EVERY_MS = 30_000
/** The audit row of an alert must survive a crash. A ledger that does not respond delays no alert for longer. */
const FLUSH_MS = 5_000
/** The timers of servers are not exact. */
const LEEWAY_MS = 1_000
const MAX_HISTORY = 100
const STATE = { kind: 'alerts', name: 'objectives' } as const

/** One target of an objective. */
interface Target {
  readonly id: string
  /** A pattern; null: all tools. */
  readonly tool: string | null
  readonly indicator: 'success' | 'p95_ms'
  readonly target: number
  readonly window: string
}

/** The state of a target. */
export interface ObjectiveReport extends Target {
  /** The calls of the window that count, and those of them that failed or were slow. */
  readonly calls: number
  readonly bad: number
  /** 1: nothing was used; 0: all; negative: the target was missed. */
  readonly error_budget_left: number
  /** How many times as fast as planned the budget is used up; null if there were no calls. */
  readonly burn_rates: Readonly<Record<AlertWindow, number | null>>
  readonly days: readonly { readonly start: string; readonly calls: number; readonly bad: number }[]
}

/** An alert, open or resolved. */
export interface Alert {
  readonly objective: string
  readonly severity: (typeof RULES)[number]['severity']
  readonly opened_at: string
  /** Null while it is open. */
  readonly resolved_at: string | null
  /** Since when the short window has been calm, in milliseconds since 1970. */
  readonly calm_since: number | null
}

/** The task that posts news to `alerts.webhook`. */
export const ALERT_WEBHOOK = 'toolyard/alert-webhook'

/** What the webhook sends: all alerts that one evaluation opened or resolved. */
export interface AlertNews {
  readonly id: string
  readonly type: 'alerts'
  readonly tenant: '*'
  readonly at: string
  readonly alerts: readonly (Omit<Alert, 'calm_since'> & {
    readonly status: 'open' | 'resolved'
    readonly message: string
    readonly burn_rates: ObjectiveReport['burn_rates'] | null
    readonly error_budget_left: number | null
  })[]
}

/** The row that all servers share. Whoever replaces it first evaluates, so that each alert is sent once. */
interface State {
  readonly evaluated_at: number
  /** The newest first. Resolved ones are the history. */
  readonly alerts: readonly Alert[]
  readonly reports: readonly Omit<ObjectiveReport, 'days'>[]
  /** What was not handed to the webhook yet: a server may stop in between. */
  readonly unsent: AlertNews | null
  /** Whether `unsent` is logged and in the audit log. */
  readonly announced?: boolean
}

const EMPTY: State = { evaluated_at: 0, alerts: [], reports: [], unsent: null }

interface ReaderParts {
  readonly settings: SettingStore
  readonly ledger: Pick<Ledger, 'objectiveCalls'>
  readonly clock: Clock
}

interface ObjectiveParts extends ReaderParts {
  readonly events: Pick<AuditEvents, 'record'>
  readonly log: Log
  /** Settles when the recorded events are stored. */
  readonly flush: () => Promise<void>
  /** Hands news to the webhook. Rejects if that fails. */
  readonly tell: (news: AlertNews) => Promise<void>
}

/** The longest window of the objectives, in days. */
export const objectiveDays = ({ objectives = [] }: Pick<Config, 'objectives'>): number =>
  Math.max(0, ...objectives.map(({ window }) => daysOf(window)))

/** Service level objectives: how much of their error budget is left. */
export class ObjectiveReader {
  readonly #parts: ReaderParts
  #targets: readonly (Target & { readonly minCalls: number })[] = []

  constructor(parts: ReaderParts) {
    this.#parts = parts
  }

  configure({ objectives = [] }: Pick<Config, 'objectives'>): void {
    this.#targets = objectives.flatMap(targetsOf)
  }

  get targets(): readonly Target[] {
    return this.#targets
  }

  /** The state of all objectives, counted now; of one tenant's calls or of all. */
  async report(tenant?: string): Promise<readonly ObjectiveReport[]> {
    return (await this.measure(tenant)).map(({ report }) => report)
  }

  /** Says that these calls of a tool alone would open a fast alert; undefined if they would not. */
  burnOf(tool: string, calls: readonly VersionCall[]): string | undefined {
    const now = this.#parts.clock.wall()
    const [{ short, long, factor }] = RULES
    for (const target of this.#targets) {
      if (target.tool !== null && !matchesGlobs([target.tool], tool)) continue
      const isBad = ({ failed, ms }: VersionCall) => (target.indicator === 'success' ? failed : ms > target.target)
      const [last, all] = [short, long].map((name) => calls.filter(({ at }) => at >= now - WINDOWS[name]))
      const rateOf = (some: readonly VersionCall[] = []) => some.filter(isBad).length / some.length / budgetOf(target)
      if ((all?.length ?? 0) < target.minCalls || !(rateOf(last) >= factor && rateOf(all) >= factor)) continue
      return `its calls spend the error budget of '${target.id}' ${rateOf(all).toFixed(1)} times as fast as planned`
    }
    return undefined
  }

  /** Open and resolved alerts, and the state of the objectives at the last evaluation by any server. */
  async state(): Promise<Pick<State, 'alerts' | 'reports'>> {
    return (await this.stored()) ?? EMPTY
  }

  protected async measure(tenant: string | undefined): Promise<readonly Measured[]> {
    const targets = this.#targets
    if (targets.length === 0) return []
    const calls = await this.#parts.ledger.objectiveCalls({
      tenant,
      objectives: targets.map(({ tool, indicator, target }) => ({
        tool: tool ?? undefined,
        slowMs: indicator === 'p95_ms' ? target : undefined,
      })),
      without: NOT_COUNTED,
      windows: Object.values(WINDOWS),
      days: Math.max(...targets.map(({ window }) => daysOf(window))),
    })
    const now = this.#parts.clock.wall()
    return targets.map((target, index) => {
      const own = calls[index] as ObjectiveCalls
      return { minCalls: target.minCalls, report: reportOf(target, own, now), windows: own.windows }
    })
  }

  protected async stored(): Promise<State | undefined> {
    const stored = await this.#parts.settings.list(STATE.kind)
    return stored.find(({ name }) => name === STATE.name)?.value as State | undefined
  }
}

/** Service level objectives with their alerts. */
export class Objectives extends ObjectiveReader {
  readonly #parts: ObjectiveParts
  #cancel: (() => void) | undefined
  #evaluating: Promise<void> = Promise.resolve()

  constructor(parts: ObjectiveParts) {
    super(parts)
    this.#parts = parts
  }

  /** Evaluates the objectives until `close`. */
  watch(): void {
    this.#cancel = this.#parts.clock.after(EVERY_MS, () => {
      this.#evaluating = this.evaluate()
        .catch((err) => writeLog(this.#parts.log, 'error', { err }, 'The objectives could not be evaluated'))
        .then(() => {
          if (this.#cancel !== undefined) this.watch()
        })
    })
  }

  async close(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    await this.#evaluating
  }

  /** Opens and resolves alerts, unless another server just did. */
  async evaluate(): Promise<void> {
    const now = this.#parts.clock.wall()
    const before = await this.stored()
    if (before === undefined ? this.targets.length === 0 : isIdle(before, this.targets)) return
    if (before !== undefined && Math.abs(now - before.evaluated_at) < EVERY_MS - LEEWAY_MS) return
    // Only one server gets past this. If it dies, the next evaluation is that of another one.
    const begun = { ...(before ?? EMPTY), evaluated_at: now }
    if (!(await this.#replace(begun, before))) return
    // Those of a server that died.
    const claimed = await this.#send(begun)
    if (claimed === undefined) return
    const measured = await this.measure(undefined)
    const reports = measured.map(({ report }) => report)
    const { alerts, changed } = nextAlerts(claimed.alerts, measured, now)
    const unsent = changed.length === 0 ? null : newsOf(changed, reports, now)
    const short = reports.map(({ days: _, ...report }) => report)
    const next: State = { evaluated_at: now, alerts, reports: short, unsent }
    if (await this.#replace(next, claimed)) await this.#send(next)
  }

  /** Logs, records and sends the news of a state. Undefined if another server does. */
  async #send(state: State): Promise<State | undefined> {
    const { unsent, announced = false, ...rest } = state
    if (unsent === null) return state
    const told: State = { ...state, announced: true }
    if (!announced) {
      await this.#announce(unsent)
      await within(FLUSH_MS, this.#parts.flush(), this.#parts.clock)
      if (!(await this.#replace(told, state))) return undefined
    }
    await this.#parts.tell(unsent)
    const sent: State = { ...rest, unsent: null }
    return (await this.#replace(sent, told)) ? sent : undefined
  }

  async #announce({ alerts }: AlertNews): Promise<void> {
    for (const { status, objective, severity, opened_at, message, burn_rates } of alerts) {
      const isOpen = status === 'open'
      writeLog(this.#parts.log, isOpen ? 'warn' : 'info', { objective, severity, burn_rates }, message)
      const detail = { severity, opened_at, ...(burn_rates && { burn_rates }) }
      await this.#parts.events.record(isOpen ? 'alert.opened' : 'alert.resolved', { subject: objective, detail })
    }
  }

  #replace(value: State, before: State | undefined): Promise<boolean> {
    return this.#parts.settings.replace({ ...STATE, value }, before)
  }
}

/** Whether no objective is configured any more, and none was left open. */
const isIdle = ({ alerts, unsent }: State, targets: readonly Target[]): boolean =>
  targets.length === 0 && unsent === null && alerts.every(({ resolved_at }) => resolved_at !== null)

const daysOf = (window = DEFAULT_WINDOW): number => Number.parseInt(window, 10)

function targetsOf(objective: ObjectiveConfig): (Target & { readonly minCalls: number })[] {
  const { tool, window = DEFAULT_WINDOW, min_calls: minCalls = DEFAULT_MIN_CALLS } = objective
  return (['success', 'p95_ms'] as const).flatMap((indicator) => {
    const target = objective[indicator]
    if (target === undefined) return []
    const id = `${tool ?? '*'} ${indicator} ${target} ${window}`
    return [{ id, tool: tool ?? null, indicator, target, window, minCalls }]
  })
}

/** The share of calls that may be bad. 1 - 0.99 is a little more than 0.01. */
const budgetOf = ({ indicator, target }: Target): number =>
  indicator === 'success' ? Math.round((1 - target) * 1e9) / 1e9 : SLOW_SHARE

function reportOf(whole: Target, { windows, days }: ObjectiveCalls, now: number): ObjectiveReport {
  const { id, tool, indicator, target, window } = whole
  const budget = budgetOf(whole)
  const badOf = ({ failed, slow }: CallCounts): number => (indicator === 'success' ? failed : slow)
  const rateOf = (counts: CallCounts): number | null =>
    counts.calls === 0 ? null : badOf(counts) / counts.calls / budget
  const from = now - (daysOf(window) + 1) * DAY_MS
  const own = days
    .filter(({ start }) => Date.parse(start) > from)
    .map((day) => ({ start: day.start, calls: day.calls, bad: badOf(day) }))
  const calls = own.reduce((sum, day) => sum + day.calls, 0)
  const bad = own.reduce((sum, day) => sum + day.bad, 0)
  return {
    ...{ id, tool, indicator, target, window, calls, bad },
    error_budget_left: calls === 0 ? 1 : 1 - bad / calls / budget,
    burn_rates: Object.fromEntries(
      WINDOW_NAMES.map((name, index) => [name, rateOf(windows[index] as CallCounts)]),
    ) as ObjectiveReport['burn_rates'],
    days: own,
  }
}

/** A target with what counts for its alerts. */
interface Measured {
  readonly minCalls: number
  readonly report: ObjectiveReport
  readonly windows: ObjectiveCalls['windows']
}

/** The alerts after an evaluation, and those that it opened or resolved. */
function nextAlerts(
  before: readonly Alert[],
  measured: readonly Measured[],
  now: number,
): { readonly alerts: readonly Alert[]; readonly changed: readonly Alert[] } {
  const at = new Date(now).toISOString()
  const alerts = before.map((alert) => {
    if (alert.resolved_at !== null) return alert
    // Another server may know an objective that this one doesn't, and evaluates it.
    const { burn_rates } = measured.find(({ report }) => report.id === alert.objective)?.report ?? {}
    const { short, factor, calmMs } = RULES.find(({ severity }) => severity === alert.severity) ?? RULES[0]
    const isCalm = (burn_rates?.[short] ?? 0) < factor / 2
    const calm_since = isCalm ? (alert.calm_since ?? now) : null
    const isOver = calm_since !== null && now - calm_since >= calmMs
    return { ...alert, calm_since, resolved_at: isOver ? at : null }
  })
  const changed = alerts.filter((alert, index) => alert.resolved_at !== before[index]?.resolved_at)
  const isOpen = (objective: string, severity: Alert['severity']) =>
    alerts.some((alert) => alert.objective === objective && alert.severity === severity && alert.resolved_at === null)
  for (const { report, windows, minCalls } of measured) {
    for (const { severity, short, long, factor } of RULES) {
      // The fast alert says it already.
      if (isOpen(report.id, severity) || (severity === 'slow' && isOpen(report.id, 'fast'))) continue
      const calls = windows[WINDOW_NAMES.indexOf(long)]?.calls ?? 0
      const reaches = [short, long].every((window) => (report.burn_rates[window] ?? 0) >= factor)
      if (calls < minCalls || !reaches) continue
      const alert = { objective: report.id, severity, opened_at: at, resolved_at: null, calm_since: null }
      alerts.unshift(alert)
      changed.push(alert)
    }
  }
  return { alerts: alerts.filter((alert, index) => alert.resolved_at === null || index < MAX_HISTORY), changed }
}

function newsOf(changed: readonly Alert[], reports: readonly ObjectiveReport[], now: number): AlertNews {
  const at = new Date(now).toISOString()
  return {
    id: `alerts.${now}`,
    type: 'alerts',
    tenant: '*',
    at,
    alerts: changed.map(({ calm_since: _, ...alert }) => {
      const report = reports.find(({ id }) => id === alert.objective)
      return {
        ...alert,
        status: alert.resolved_at === null ? 'open' : 'resolved',
        message: messageOf(alert, report),
        burn_rates: report?.burn_rates ?? null,
        error_budget_left: report?.error_budget_left ?? null,
      }
    }),
  }
}

function messageOf({ objective, severity, resolved_at }: Omit<Alert, 'calm_since'>, report?: ObjectiveReport): string {
  if (report === undefined) return `Alert resolved: the objective '${objective}' is no longer configured`
  if (resolved_at !== null) return `Alert resolved: '${objective}' uses its error budget as planned again`
  const { long } = RULES.find((rule) => rule.severity === severity) ?? RULES[0]
  const rate = (report.burn_rates[long] ?? 0).toFixed(1)
  const what = report.indicator === 'success' ? 'fail' : 'are slow'
  return `Alert (${severity} burn): calls of '${objective}' ${what} ${rate} times as often as its error budget allows`
}
