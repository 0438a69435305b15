import type { Clock } from '../../core/clock.ts'
import { type Log, writeLog } from '../../core/log.ts'
import type {
  AuditFilter,
  AuditPage,
  AuditPageRow,
  AuditReport,
  AuditSummary,
  CallEntry,
  CallSeriesMetrics,
  ChainHead,
  EventEntry,
  ExecutionMetrics,
  Ledger,
  MetricsQuery,
  ModelMetrics,
  ObjectiveCalls,
  ObjectiveQuery,
  ParameterSet,
  RowWithPayload,
  RunSeriesMetrics,
  SummaryQuery,
  TurnEntry,
  VersionCall,
  VersionQuery,
} from '../../core/storage/ledger.ts'
import type { StoredRun } from '../../core/storage/run-store.ts'
import { codesWith, ToolExecutionError } from '../../core/tool-result.ts'
import { HeadCheck, HeadRecords } from './chain-heads.ts'
import { FigureQueries } from './figure-queries.ts'
import { type Expired, expire, figuresKeptMs, Housekeeper, type Retention } from './housekeeper.ts'
import type { ChainRow, LedgerTables } from './ledger-tables.ts'
import { LiveFigures, queryTenant } from './live-figures.ts'
import { shownRow } from './row-code.ts'
import { SealRegister } from './seal-register.ts'
import { storableRun } from './storable-text.ts'
import { type ChainVisitor, OwnChain, verifyChains } from './verify-chain.ts'

/** How often due figures are written. */
const LOOK_MS = 1_000

/** Failures that say nothing about the version of a tool. */
const NO_VERSION = codesWith(({ ofNoVersion }) => ofNoVersion)

const NOT_SEALED = 'The audit chain of this server could not be sealed'

export interface StorageLedgerOptions extends Retention {
  /** Names this server instance, and its chain. */
  readonly instance: string
  /** The installation's key. */
  readonly auditKey: string
  readonly clock: Clock
  readonly log: Log
  /** A file that gets the end of every sealed section. */
  readonly headsFile?: string
}

type Which = Parameters<LiveFigures['due']>[1]

/** The ledger over the tables of an engine. */
export class StorageLedger implements Ledger {
  readonly #tables: LedgerTables
  readonly #options: StorageLedgerOptions
  readonly #register: SealRegister
  readonly #chain: OwnChain
  readonly #figures: LiveFigures
  readonly #queries: FigureQueries
  readonly #housekeeper: Housekeeper
  /** Writes run one after the other. */
  #last: Promise<unknown> = Promise.resolve()
  /** The last audit of each tenant that has not ended. */
  readonly #audits = new Map<string, Promise<void>>()
  #lastSummary: Promise<unknown> = Promise.resolve()
  readonly #failing = new Set<string>()
  #lookedAt: number
  #cancel: (() => void) | undefined
  #closed: Promise<void> | undefined

  constructor(tables: LedgerTables, options: StorageLedgerOptions) {
    const { instance, auditKey, clock, log, headsFile } = options
    const heads = new HeadRecords(log, headsFile)
    this.#register = new SealRegister(tables, auditKey, (seal) => heads.add(seal))
    this.#tables = tables
    this.#options = options
    this.#chain = new OwnChain(tables, instance, auditKey, clock, this.#register)
    this.#figures = new LiveFigures({ log, keepMs: figuresKeptMs(options) })
    this.#queries = new FigureQueries(tables, log)
    this.#lookedAt = clock.wall()
    this.#housekeeper = new Housekeeper(tables, {
      ...options,
      register: this.#register,
      sealOwn: () => this.#attempt(NOT_SEALED, () => this.#inTurn(() => this.#sealIfDue())),
    })
  }

  append(
    calls: readonly CallEntry[],
    runs: readonly StoredRun[],
    events: readonly EventEntry[] = [],
    turns: readonly TurnEntry[] = [],
  ): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(new Error('The ledger is closed'))
    return this.#inTurn(() => this.#append(calls, runs, events, turns))
  }

  /** One at a time for each tenant: a filter may read all its rows, and others must not wait for many of them. */
  audit(filter: AuditFilter): Promise<AuditPage> {
    const tenant = filter.tenant ?? ''
    const page = (this.#audits.get(tenant) ?? Promise.resolve()).then(() => auditPage(this.#tables, filter))
    const ended = page
      .catch(() => {})
      .then(() => {
        if (this.#audits.get(tenant) === ended) this.#audits.delete(tenant)
      })
    this.#audits.set(tenant, ended)
    return page
  }

  async row(tenant: string | undefined, id: string): Promise<RowWithPayload | undefined> {
    const end = id.lastIndexOf(':')
    const seq = Number(id.slice(end + 1))
    const chain = id.slice(0, Math.max(end, 0))
    if (!Number.isSafeInteger(seq) || chain.includes('\0')) return undefined
    const found = await this.#tables.row(chain, seq)
    if (found === undefined || (tenant !== undefined && found.tenant !== tenant)) return undefined
    return { row: shownRow(found), payload: found.payload }
  }

  async verify(heads: readonly ChainHead[] = []): Promise<AuditReport> {
    const check = new HeadCheck(heads)
    const report = await this.#verify(check)
    return { ...report, faults: [...report.faults, ...check.faults] }
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

  versionCalls(query: VersionQuery): Promise<readonly VersionCall[]> {
    return this.#tables.versionCalls(query, query.without ?? NO_VERSION)
  }

  async objectiveCalls(query: ObjectiveQuery): Promise<readonly ObjectiveCalls[]> {
    await this.#writeFigures({ kind: 'call', tenant: queryTenant(query.tenant) })
    return this.#queries.objectiveCalls(query, this.#options.clock.wall())
  }

  /** One at a time: each reads all rows. */
  summary(query: SummaryQuery): Promise<AuditSummary> {
    const summary = this.#lastSummary.then(async () => {
      const { SummaryVisitor } = await import('./audit-summary.ts')
      const visitor = new SummaryVisitor(query)
      return visitor.summary(await this.#verify(visitor))
    })
    this.#lastSummary = summary.catch(() => {})
    return summary
  }

  expire(now: number): Promise<Expired> {
    return expire(this.#tables, this.#options, now, () => true)
  }

  /** Writes what is left and seals the chain. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  #verify(visitor?: ChainVisitor): Promise<AuditReport> {
    const { instance, auditKey, clock } = this.#options
    const { end } = this.#chain
    const ends = new Map(end.seq === 0 ? [] : [[instance, end]])
    return verifyChains(this.#tables, auditKey, ends, { visitor, now: clock.wall(), knownSeals: this.#register.known })
  }

  async #append(...[calls, runs, events = [], turns = []]: Parameters<Ledger['append']>): Promise<void> {
    await this.#attempt(NOT_SEALED, () => this.#sealIfDue())
    const now = this.#options.clock.wall()
    const due = now - this.#lookedAt >= LOOK_MS ? this.#figures.due(now, 'due') : undefined
    const kept = runs.map(storableRun)
    const rows = await this.#chain.append([...calls, ...events], async (rows) => {
      await this.#tables.write({ rows, runs: kept, cells: due?.cells ?? [], calls, turns })
      due?.written()
    })
    if (due !== undefined) this.#lookedAt = now
    this.#figures.calls(
      rows.filter(({ event }) => event === null),
      now,
    )
    for (const run of kept) this.#figures.run(run, now)
    this.#lookLater()
  }

  async #sealIfDue(): Promise<void> {
    if (this.#chain.sealDue()) await this.#chain.seal()
  }

  /** A failure is logged only: queries can still be answered from the table. */
  async #writeFigures(which: Which): Promise<void> {
    await this.#attempt('The metrics of this server could not be stored', () =>
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

  /** Writes figures later if no further append does. */
  #lookLater(): void {
    if (this.#cancel !== undefined || this.#closed !== undefined || !this.#figures.changed) return
    this.#cancel = this.#options.clock.after(LOOK_MS, () => {
      this.#cancel = undefined
      void this.#writeFigures('due').then(() => this.#lookLater())
    })
  }

  async #close(): Promise<void> {
    this.#cancel?.()
    await this.#housekeeper.close()
    await this.#writeFigures('all')
    await this.#attempt(NOT_SEALED, () => this.#inTurn(() => this.#chain.seal()))
  }

  /** Logs a failure once, until the step works again. */
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

const MAX_ROWS = 1_000

type FoundRow = Awaited<ReturnType<LedgerTables['rows']>>[number]

/** One page of the audit, newest rows first. */
async function auditPage(tables: LedgerTables, { cursor, ...filter }: AuditFilter): Promise<AuditPage> {
  const limit = Math.max(1, Math.min(Math.floor(filter.limit), MAX_ROWS))
  const before = cursor === undefined ? undefined : readAuditCursor(cursor)
  // One extra row tells whether there is a next page.
  const found = await tables.rows({ ...filter, limit: limit + 1 }, before)
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  const more = found.length > limit && last !== undefined
  return { rows: rows.map(pageRow), ...(more && { next: writeAuditCursor(last) }) }
}

const pageRow = ({ payloadStart, ...row }: FoundRow): AuditPageRow =>
  typeof payloadStart === 'string' ? { ...shownRow(row), payload_start: payloadStart } : shownRow(row)

/** The place of a row in the order of the audit. */
type RowPlace = Pick<ChainRow, 'at' | 'chain' | 'seq'>

const writeAuditCursor = ({ at, chain, seq }: RowPlace): string =>
  Buffer.from(JSON.stringify([at, chain, seq])).toString('base64url')

function readAuditCursor(cursor: string): RowPlace {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(value) && value.length === 3) {
      const [at, chain, seq] = value as unknown[]
      const named = typeof chain === 'string' && !chain.includes('\0')
      if (Number.isSafeInteger(at) && named && Number.isSafeInteger(seq)) {
        return { at: at as number, chain, seq: seq as number }
      }
    }
  } catch {
    // Reported below.
  }
  throw new ToolExecutionError(
    'INVALID_PARAMETERS',
    `cursor: "${cursor.slice(0, 60)}" is not a cursor of an earlier page`,
  )
}
