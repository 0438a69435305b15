import type { Cell } from '../ledger-tables.ts'
import { CallFigures } from './call-figures.ts'
import type { Figures } from './figures.ts'
import { ParameterSets } from './parameter-sets.ts'
import { RunFigures } from './run-figures.ts'

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
export interface LiveCell<F extends Figures = Figures> {
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
export interface TenantPeriod {
  readonly calls: LiveCell<CallFigures>
  readonly runs: LiveCell<RunFigures>
  readonly sets: Map<string, LiveCell<ParameterSets>>
}

/** A minute, an hour or a day that is still counted in. */
export class Period {
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
export function touch(cell: LiveCell, now: number): void {
  if (cell.version++ === cell.written) cell.changedAt = now
}

export const liveSet = (tenant: string, tool: string): LiveCell<ParameterSets> =>
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
