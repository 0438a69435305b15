import { type Log, writeLog } from '../../../core/log.ts'
import type { StoredRun } from '../../../core/storage/run-store.ts'
import type { Cell, ChainRow } from '../ledger-tables.ts'
import { storableText } from '../storable-text.ts'
import { CallFigures, type Figures, RunFigures, type RunSeries } from './figures.ts'
import { ParameterSets } from './parameter-sets.ts'

/** Names that callers make up would fill the memory: they are counted together. */
const UNKNOWN = '(unknown tools)'
/** Where names go when there are too many. */
const OTHER = '(other)'
/** A period that is over stays so long for calls that come late. */
const IDLE_MS = 60_000

const WIDTHS = ['minute', 'hour', 'day'] as const

export interface LiveFiguresOptions {
  readonly log: Log
  /** How long cells are kept, in milliseconds: what is older is not counted. */
  readonly keepMs: { readonly [width in Cell['width']]: number }
  /** How many tools and models of tenants are counted apart at a time. */
  readonly mostSeries?: number
}

/** Cells that are to be written, and the way to say that they are. */
export interface DueCells {
  readonly cells: readonly Cell[]
  written(): void
}

/** The figures of this instance that are not written yet, or still change. */
export class LiveFigures {
  readonly #log: Log
  readonly #keepMs: LiveFiguresOptions['keepMs']
  readonly #mostSeries: number
  readonly #periods = {
    minute: new Map<number, Period>(),
    hour: new Map<number, Period>(),
    day: new Map<number, Period>(),
  }
  #generation = 0
  #series = 0
  #saidFull = false

  constructor({ log, keepMs, mostSeries = 100_000 }: LiveFiguresOptions) {
    this.#log = log
    this.#keepMs = keepMs
    this.#mostSeries = mostSeries
  }

  /** Counts a call in the minute, the hour and the day in which it began. */
  call(row: ChainRow, model: string | null, now: number): void {
    const tool = row.code === 'TOOL_NOT_FOUND' ? UNKNOWN : row.tool
    const tenant = cellTenant(row.tenant)
    for (const width of WIDTHS) {
      const period = this.#period(width, row.at, now)
      if (period === undefined) continue
      const all = period.of(ALL_TENANTS)
      this.#countCall(period, period.of(tenant), tool, row, model, now)
      this.#countCall(period, all, tool, row, model, now)
      all.runs.figures.tenants.call(row.tenant)
      touch(all.runs, now)
    }
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
      all.runs.figures.tenants.run(tenant, run.cost)
    }
  }

  /** The cells whose changes should be in the table by now, all that have changed, or all of them for a question. */
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

  /** Whether there is anything that the table does not have. */
  get changed(): boolean {
    for (const period of this.#all()) for (const _ of period.unwritten()) return true
    return false
  }

  #countCall(
    period: Period,
    { calls, runs, sets }: TenantPeriod,
    asked: string,
    { durationMs, code, paramsHash }: ChainRow,
    model: string | null,
    now: number,
  ): void {
    const known = calls.figures.find(asked)
    const tool = known === undefined ? this.#admit(period, asked) : asked
    ;(known ?? calls.figures.of(tool)).record(durationMs, code)
    touch(calls, now)
    if (model !== null) {
      const series = this.#model(period, runs.figures, model)
      const named = series.calls.get(tool) > 0 ? tool : this.#admit(period, tool)
      series.calls.add(named)
      if (code !== null) series.failed.add(named)
      touch(runs, now)
    }
    if (period.width === 'day' && paramsHash !== null) {
      let set = sets.get(tool)
      if (set === undefined) {
        if (this.#admit(period, tool) !== tool) return
        set = liveSet(calls.tenant, tool)
        sets.set(tool, set)
      }
      set.figures.record(paramsHash)
      touch(set, now)
    }
  }

  #model(period: Period, figures: RunFigures, model: string): RunSeries {
    const name = storableText(model)
    return figures.find(name) ?? figures.of(this.#admit(period, name))
  }

  /** The name to count a new series by. */
  #admit(period: Period, name: string): string {
    if (this.#series < this.#mostSeries) {
      this.#series++
      period.series++
      return name
    }
    if (!this.#saidFull) {
      this.#saidFull = true
      const message = `More than ${this.#mostSeries} tools and models at a time: figures of further ones go under '${OTHER}'`
      writeLog(this.#log, 'warn', { first: name }, message)
    }
    return OTHER
  }

  /** Undefined where it is so long ago that it is not kept. */
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

  /** Lets go of periods that are over, written, and that nothing has come for in a while. */
  #forget(now: number): void {
    for (const period of this.#all()) {
      if (period.end > now || period.touchedAt > now - IDLE_MS) continue
      if (period.unwritten()[Symbol.iterator]().next().done !== true) continue
      this.#periods[period.width].delete(period.start)
      this.#series -= period.series
    }
  }
}

/** The sum over all tenants. */
const ALL_TENANTS = '*'

/** The name of a tenant in cells: one that is itself called `*` is not the sum of all. */
const cellTenant = (tenant: string): string => (tenant.startsWith(ALL_TENANTS) ? ALL_TENANTS + tenant : tenant)

/** The name of the cells that answer a question about a tenant, or about all. */
export const queryTenant = (tenant: string | undefined): string =>
  tenant === undefined ? ALL_TENANTS : cellTenant(tenant)

/**
 * How long each is, and how soon after a change its cells are written. Days are there for the window of a week: a
 * week of hours takes too long to put together. Parameter sets are counted by day only, since by hour they would take
 * more room than all other figures.
 */
export const PERIODS = {
  minute: { ms: 60_000, writeAfterMs: 1_000 },
  hour: { ms: 3_600_000, writeAfterMs: 10_000 },
  day: { ms: 86_400_000, writeAfterMs: 60_000 },
} as const

/** No cell is written more often. */
const LEAST_MS = PERIODS.minute.writeAfterMs

/** A cell that is still counted in. */
interface LiveCell<F extends Figures = Figures> {
  readonly kind: Cell['kind']
  readonly tenant: string
  readonly tool: string
  readonly figures: F
  /** Goes up with every change; `written` is the last one that is in the table. */
  version: number
  written: number
  /** When the first change came that is not written yet. */
  changedAt: number
}

/** What one tenant did in a period. */
interface TenantPeriod {
  readonly calls: LiveCell<CallFigures>
  readonly runs: LiveCell<RunFigures>
  readonly sets: Map<string, LiveCell<ParameterSets>>
}

/** A minute, an hour or a day that is still counted in. */
class Period {
  readonly width: Cell['width']
  readonly start: number
  /** Names its cells among those of the same time, should more come when they have long been written and forgotten. */
  readonly generation: string
  readonly tenants = new Map<string, TenantPeriod>()
  touchedAt: number
  /** How many tools, models and lists are counted in it. */
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

  /** The cells that hold something that the table does not. */
  *unwritten(): Iterable<LiveCell> {
    for (const { calls, runs, sets } of this.tenants.values()) {
      if (calls.version > calls.written) yield calls
      if (runs.version > runs.written) yield runs
      for (const set of sets.values()) if (set.version > set.written) yield set
    }
  }

  /** When a change of this cell should be in the table. */
  dueAt(cell: LiveCell): number {
    const { changedAt } = cell
    return Math.min(changedAt + PERIODS[this.width].writeAfterMs, Math.max(this.end, changedAt + LEAST_MS))
  }

  cell(live: LiveCell): Cell {
    const { kind, tenant, tool, figures } = live
    return { width: this.width, start: this.start, tenant, kind, tool, model: this.generation, data: figures.encode() }
  }
}

/** Notes that the figures of a cell have changed. */
function touch(cell: LiveCell, now: number): void {
  if (cell.version++ === cell.written) cell.changedAt = now
}

const liveSet = (tenant: string, tool: string): LiveCell<ParameterSets> =>
  liveCell('set', tenant, tool, new ParameterSets())

const liveCell = <F extends Figures>(kind: Cell['kind'], tenant: string, tool: string, figures: F): LiveCell<F> => ({
  kind,
  tenant,
  tool,
  figures,
  version: 0,
  written: 0,
  changedAt: 0,
})
