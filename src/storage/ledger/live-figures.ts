import { type Log, writeLog } from '../../core/log.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import { CallFigures, type Figures, RunFigures } from './figures.ts'
import type { Cell, ChainRow } from './ledger-tables.ts'
import { ParameterSets } from './parameter-sets.ts'
import { storableText } from './storable-text.ts'

/** Calls of unknown tools are counted together: callers can make up any number of names. */
const UNKNOWN = '(unknown tools)'
/** Further names are counted together when there are too many. */
const OTHER = '(other)'
/** How long a period that is over waits for late calls. */
const IDLE_MS = 60_000

const WIDTHS = ['minute', 'hour', 'day'] as const

interface LiveFiguresOptions {
  readonly log: Log
  /** How long cells are stored, in milliseconds; older calls are not counted. */
  readonly keepMs: { readonly [width in Cell['width']]: number }
  /** How many tools and models of tenants are counted separately at a time. */
  readonly maxSeries?: number
}

/** Cells to write; `written` reports that they are stored. */
interface DueCells {
  readonly cells: readonly Cell[]
  written(): void
}

/** The figures of this instance that are not stored yet or still change. */
export class LiveFigures {
  readonly #log: Log
  readonly #keepMs: LiveFiguresOptions['keepMs']
  readonly #maxSeries: number
  readonly #periods = {
    minute: new Map<number, Period>(),
    hour: new Map<number, Period>(),
    day: new Map<number, Period>(),
  }
  #generation = 0
  #series = 0
  #saidFull = false

  constructor({ log, keepMs, maxSeries = 100_000 }: LiveFiguresOptions) {
    this.#log = log
    this.#keepMs = keepMs
    this.#maxSeries = maxSeries
  }

  /** Counts calls in the minute, the hour and the day in which each began. */
  calls(rows: readonly ChainRow[], now: number): void {
    // Finding the series costs more than counting, so that calls of the same series are counted together.
    const groups = Map.groupBy(
      rows,
      (row) => `${minuteOf(row)}\0${row.tenant}\0${toolOf(row)}\0${row.model === null}\0${row.model}`,
    )
    for (const group of groups.values()) this.#countAlike(group, now)
  }

  /** Counts a run in the minute, the hour and the day in which it began. */
  run(run: StoredRun, now: number): void {
    const tenant = storableText(run.tenant)
    for (const width of WIDTHS) {
      const period = this.#period(width, Date.parse(run.started_at) || now, now)
      if (period === undefined) continue
      const all = period.of(ALL_TENANTS)
      for (const { runs } of [period.of(cellTenant(tenant)), all]) {
        this.#model(period, runs.figures, run.model).record(run)
        touch(runs, now)
      }
      all.runs.figures.tenants.add(tenant, { runs: 1, ...(run.cost !== null && { priced: 1, cost: run.cost }) })
    }
  }

  /** Changed cells: those that are due, all, or those of one kind and tenant. */
  due(now: number, which: 'due' | 'all' | Pick<Cell, 'kind' | 'tenant'>): DueCells {
    const taken: { live: LiveCell; version: number; cell: Cell }[] = []
    for (const period of this.#all()) {
      for (const live of period.unwritten()) {
        const asked =
          which === 'due'
            ? period.dueAt(live) <= now
            : which === 'all' || (which.kind === live.kind && which.tenant === live.tenant)
        if (asked) taken.push({ live, version: live.version, cell: period.cell(live) })
      }
    }
    return {
      cells: taken.map(({ cell }) => cell),
      written: () => {
        for (const { live, version } of taken) live.written = version
        this.#forget(now)
      },
    }
  }

  /** Whether a cell is not stored yet. */
  get changed(): boolean {
    for (const period of this.#all()) for (const _ of period.unwritten()) return true
    return false
  }

  /** Calls of one minute, tenant, tool and model. */
  #countAlike(rows: readonly ChainRow[], now: number): void {
    const { at, tenant } = rows[0] as ChainRow
    for (const width of WIDTHS) {
      const period = this.#period(width, at, now)
      if (period === undefined) continue
      const all = period.of(ALL_TENANTS)
      this.#countCalls(period, period.of(cellTenant(tenant)), rows, now)
      this.#countCalls(period, all, rows, now)
      all.runs.figures.tenants.add(tenant, { calls: rows.length })
      touch(all.runs, now)
    }
  }

  #countCalls(period: Period, { calls, runs, sets }: TenantPeriod, rows: readonly ChainRow[], now: number): void {
    const first = rows[0] as ChainRow
    const asked = toolOf(first)
    const known = calls.figures.find(asked)
    const tool = known === undefined ? this.#admit(period, asked) : asked
    const series = known ?? calls.figures.of(tool)
    for (const { duration_ms, code } of rows) series.record(duration_ms, code)
    touch(calls, now)
    if (first.model !== null) {
      const series = this.#model(period, runs.figures, first.model)
      const named = series.calls.has(tool) ? tool : this.#admit(period, tool)
      series.calls.add(named, rows.length)
      const failed = rows.filter(({ code }) => code !== null).length
      if (failed > 0) series.failed.add(named, failed)
      touch(runs, now)
    }
    if (period.width === 'day') this.#countParameters(period, calls.tenant, sets, tool, rows, now)
  }

  #countParameters(
    period: Period,
    tenant: string,
    sets: TenantPeriod['sets'],
    tool: string,
    rows: readonly ChainRow[],
    now: number,
  ): void {
    const hashes = rows.flatMap(({ params_hash }) => params_hash ?? [])
    if (hashes.length === 0) return
    let set = sets.get(tool)
    if (set === undefined) {
      if (this.#admit(period, tool) !== tool) return
      set = liveCell('set', tenant, tool, new ParameterSets())
      sets.set(tool, set)
    }
    for (const hash of hashes) set.figures.record(hash)
    touch(set, now)
  }

  #model(period: Period, figures: RunFigures, model: string): ReturnType<RunFigures['of']> {
    const name = storableText(model)
    return figures.find(name) ?? figures.of(this.#admit(period, name))
  }

  /** The name under which a new series is counted. */
  #admit(period: Period, name: string): string {
    if (this.#series < this.#maxSeries) {
      this.#series++
      period.series++
      return name
    }
    if (!this.#saidFull) {
      this.#saidFull = true
      const message = `More than ${this.#maxSeries} tools and models at a time: others are counted as '${OTHER}'`
      writeLog(this.#log, 'warn', { first: name }, message)
    }
    return OTHER
  }

  /** Undefined if the period is too old to be stored. */
  #period(width: Cell['width'], at: number, now: number): Period | undefined {
    const { ms } = PERIODS[width]
    const time = Math.min(at, now)
    if (time < now - this.#keepMs[width]) return undefined
    const start = time - (time % ms)
    let period = this.#periods[width].get(start)
    if (period === undefined) {
      period = new Period(width, start, String(++this.#generation), now)
      this.#periods[width].set(start, period)
    }
    period.touchedAt = now
    return period
  }

  *#all(): Iterable<Period> {
    for (const periods of Object.values(this.#periods)) yield* periods.values()
  }

  /** Forgets stored periods that are over and have had no calls for a while. */
  #forget(now: number): void {
    for (const period of this.#all()) {
      if (period.end > now || period.touchedAt > now - IDLE_MS) continue
      if (period.unwritten()[Symbol.iterator]().next().done !== true) continue
      this.#periods[period.width].delete(period.start)
      this.#series -= period.series
    }
  }
}

const minuteOf = ({ at }: ChainRow): number => Math.floor(at / PERIODS.minute.ms)

const toolOf = ({ code, tool }: ChainRow): string => (code === 'TOOL_NOT_FOUND' ? UNKNOWN : tool)

/** The sum over all tenants. */
const ALL_TENANTS = '*'

/** The name of a tenant in cells. A tenant called `*` is not the sum over all. */
const cellTenant = (tenant: string): string => (tenant.startsWith(ALL_TENANTS) ? ALL_TENANTS + tenant : tenant)

/** The tenant in cells for a query about one tenant or all of them. */
export const queryTenant = (tenant: string | undefined): string =>
  tenant === undefined ? ALL_TENANTS : cellTenant(tenant)

/**
 * The length of each period, and how soon after a change its cells are written. Days make the window of a week cheap.
 * Parameter sets are counted by day only: by hour they would take more space than all other figures.
 */
export const PERIODS = {
  minute: { ms: 60_000, writeAfterMs: 1_000 },
  hour: { ms: 3_600_000, writeAfterMs: 10_000 },
  day: { ms: 86_400_000, writeAfterMs: 60_000 },
} as const

/** The minimum time between two writes of a cell. */
const MIN_WRITE_MS = PERIODS.minute.writeAfterMs

/** A cell in memory. */
interface LiveCell<F extends Figures = Figures> {
  readonly kind: Cell['kind']
  readonly tenant: string
  readonly tool: string
  readonly figures: F
  /** Increases with every change; `written` is the stored version. */
  version: number
  written: number
  /** The time of the first change that is not stored. */
  changedAt: number
}

interface TenantPeriod {
  readonly calls: LiveCell<CallFigures>
  readonly runs: LiveCell<RunFigures>
  readonly sets: Map<string, LiveCell<ParameterSets>>
}

/** A minute, an hour or a day in memory. */
class Period {
  readonly width: Cell['width']
  readonly start: number
  /** Distinguishes its cells from those of the same time that were stored and forgotten before. */
  readonly generation: string
  readonly tenants = new Map<string, TenantPeriod>()
  touchedAt: number
  /** The number of tools, models and parameter sets. */
  series = 0

  constructor(width: Cell['width'], start: number, generation: string, now: number) {
    this.width = width
    this.start = start
    this.generation = generation
    this.touchedAt = now
  }

  get end(): number {
    return this.start + PERIODS[this.width].ms
  }

  of(tenant: string): TenantPeriod {
    let found = this.tenants.get(tenant)
    if (found === undefined) {
      const calls = liveCell('call', tenant, '', new CallFigures())
      const runs = liveCell('run', tenant, '', new RunFigures())
      found = { calls, runs, sets: new Map() }
      this.tenants.set(tenant, found)
    }
    return found
  }

  /** The cells with changes that are not stored. */
  *unwritten(): Iterable<LiveCell> {
    for (const { calls, runs, sets } of this.tenants.values()) {
      if (calls.version > calls.written) yield calls
      if (runs.version > runs.written) yield runs
      for (const set of sets.values()) if (set.version > set.written) yield set
    }
  }

  dueAt(cell: LiveCell): number {
    const { changedAt } = cell
    return Math.min(changedAt + PERIODS[this.width].writeAfterMs, Math.max(this.end, changedAt + MIN_WRITE_MS))
  }

  cell(live: LiveCell): Cell {
    const { kind, tenant, tool, figures } = live
    return { width: this.width, start: this.start, tenant, kind, tool, model: this.generation, data: figures.encode() }
  }
}

function touch(cell: LiveCell, now: number): void {
  if (cell.version++ === cell.written) cell.changedAt = now
}

const liveCell = <F extends Figures>(kind: Cell['kind'], tenant: string, tool: string, figures: F): LiveCell<F> => ({
  kind,
  tenant,
  tool,
  figures,
  version: 0,
  written: 0,
  changedAt: 0,
})
