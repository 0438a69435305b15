import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type {
  AuditFilter,
  AuditPage,
  AuditReport,
  CallEntry,
  CallSeriesMetrics,
  ExecutionMetrics,
  Ledger,
  MetricsQuery,
  ModelMetrics,
  ParameterSet,
  RunSeriesMetrics,
} from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import { auditPage } from './audit-pages.ts'
import { FigureQueries } from './figures/figure-queries.ts'
import { LiveFigures, queryTenant } from './figures/live-figures.ts'
import { type Expired, expire, figuresKeptMs, Housekeeper } from './housekeeper.ts'
import type { LedgerTables } from './ledger-tables.ts'
import { OwnChain } from './own-chain.ts'
import { storableRun } from './storable-text.ts'
import { verifyChains } from './verify-chain.ts'

/** How often it is looked which figures should be written. */
const LOOK_MS = 1_000

const NOT_SEALED = 'The audit chain of this server could not be sealed'

export interface StorageLedgerOptions {
  /** Names this server instance, and its chain. */
  readonly instance: string
  /** The installation's key. */
  readonly auditKey: string
  readonly keepDays: number
  readonly clock: Clock
  readonly log: Log
  /** Whether figures, too, survive a crash after `append` has settled; without it the last seconds may be missing. */
  readonly durableFigures?: boolean
}

type Which = Parameters<LiveFigures['due']>[1]

/** The ledger over the tables of an engine. */
export class StorageLedger implements Ledger {
  readonly #tables: LedgerTables
  readonly #options: StorageLedgerOptions
  readonly #chain: OwnChain
  readonly #figures: LiveFigures
  readonly #queries: FigureQueries
  readonly #housekeeper: Housekeeper
  /** Everything that writes waits for what was asked for before it. */
  #last: Promise<unknown> = Promise.resolve()
  readonly #failing = new Set<string>()
  #lookedAt: number
  #callOff: (() => void) | undefined
  #closed: Promise<void> | undefined

  constructor(tables: LedgerTables, options: StorageLedgerOptions) {
    const { instance, auditKey, keepDays, clock, log } = options
    this.#tables = tables
    this.#options = options
    this.#chain = new OwnChain(tables, instance, auditKey, clock)
    this.#figures = new LiveFigures({ log, keepMs: figuresKeptMs(keepDays) })
    this.#queries = new FigureQueries(tables, log)
    this.#lookedAt = clock.wall()
    this.#housekeeper = new Housekeeper(tables, {
      ...options,
      sealOwn: () => this.#attempt(NOT_SEALED, () => this.#inTurn(() => this.#sealIfDue())),
    })
  }

  append(calls: readonly CallEntry[], runs: readonly StoredRun[]): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(new Error('The ledger is closed'))
    return this.#inTurn(() => this.#append(calls, runs))
  }

  audit(filter: AuditFilter): Promise<AuditPage> {
    return auditPage(this.#tables, filter)
  }

  async verify(): Promise<AuditReport> {
    const { instance, auditKey } = this.#options
    const { end } = this.#chain
    return verifyChains(this.#tables, auditKey, new Map(end.seq === 0 ? [] : [[instance, end]]))
  }

  async executions(query: MetricsQuery): Promise<ExecutionMetrics> {
    await this.#writeFigures({ kind: 'call', tenant: queryTenant(query.tenant) })
    return this.#queries.executions(query, this.#options.clock.wall())
  }

  async models(query: MetricsQuery): Promise<ModelMetrics> {
    await this.#writeFigures({ kind: 'run', tenant: queryTenant(query.tenant) })
    return this.#queries.models(query, this.#options.clock.wall())
  }

  async callSeries(query: MetricsQuery & { readonly tool?: string }): Promise<CallSeriesMetrics> {
    await this.#writeFigures({ kind: 'call', tenant: queryTenant(query.tenant) })
    return this.#queries.callSeries(query, this.#options.clock.wall())
  }

  async runSeries(query: MetricsQuery & { readonly model?: string }): Promise<RunSeriesMetrics> {
    await this.#writeFigures({ kind: 'run', tenant: queryTenant(query.tenant) })
    return this.#queries.runSeries(query, this.#options.clock.wall())
  }

  async parameterSets(query: MetricsQuery & { readonly tool: string }): Promise<readonly ParameterSet[]> {
    await this.#writeFigures({ kind: 'set', tenant: queryTenant(query.tenant) })
    return this.#queries.parameterSets(query, this.#options.clock.wall())
  }

  expire(now: number): Promise<Expired> {
    const { auditKey, keepDays } = this.#options
    return expire(this.#tables, auditKey, keepDays, now, () => true)
  }

  /** Writes what is left and seals the chain. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #append(calls: readonly CallEntry[], runs: readonly StoredRun[]): Promise<void> {
    const { clock, durableFigures } = this.#options
    await this.#attempt(NOT_SEALED, () => this.#sealIfDue())
    const now = clock.wall()
    const due = now - this.#lookedAt >= LOOK_MS ? this.#figures.due(now, 'due') : undefined
    const kept = runs.map(storableRun)
    const rows = await this.#chain.append(calls, async (rows) => {
      await this.#tables.write({ rows, runs: kept, cells: due?.cells ?? [] })
      due?.written()
    })
    if (due !== undefined) this.#lookedAt = now
    for (const [index, row] of rows.entries()) this.#figures.call(row, calls[index]?.model ?? null, now)
    for (const run of kept) this.#figures.run(run, now)
    if (durableFigures) await this.#writeCells('all')
    else this.#lookLater()
  }

  async #sealIfDue(): Promise<void> {
    if (!this.#chain.sealDue()) return
    await this.#chain.seal()
    // Who keeps the log elsewhere can tell later whether the end of a chain was cut off.
    const { seq, hash } = this.#chain.end
    writeLog(this.#options.log, 'info', { chain: this.#options.instance, seq, hash }, 'Audit chain sealed')
  }

  /** Where they cannot be written, what is in the table is still worth an answer. */
  async #writeFigures(which: Which): Promise<void> {
    await this.#attempt('The figures of this server could not be written', () =>
      this.#inTurn(() => this.#writeCells(which)),
    )
  }

  async #writeCells(which: Which): Promise<void> {
    const now = this.#options.clock.wall()
    if (which === 'due') this.#lookedAt = now
    const due = this.#figures.due(now, which)
    if (due.cells.length === 0) return
    await this.#tables.write({ rows: [], runs: [], cells: due.cells })
    due.written()
  }

  /** Figures that no further append takes along are written by themselves. */
  #lookLater(): void {
    if (this.#callOff !== undefined || this.#closed !== undefined || !this.#figures.changed) return
    this.#callOff = this.#options.clock.after(LOOK_MS, () => {
      this.#callOff = undefined
      void this.#writeFigures('due').then(() => this.#lookLater())
    })
  }

  async #close(): Promise<void> {
    this.#callOff?.()
    await this.#housekeeper.close()
    await this.#writeFigures('all')
    await this.#attempt(NOT_SEALED, () => this.#inTurn(() => this.#chain.seal()))
  }

  /** Says what failed once, until it works again. */
  async #attempt(failure: string, step: () => Promise<void>): Promise<void> {
    try {
      await step()
      this.#failing.delete(failure)
    } catch (err) {
      if (this.#failing.has(failure)) return
      this.#failing.add(failure)
      writeLog(this.#options.log, 'warn', { err }, failure)
    }
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#last.then(step)
    this.#last = result.catch(() => {})
    return result
  }
}
