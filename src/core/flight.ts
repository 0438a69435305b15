import type { HandlerContext } from './handler.ts'
import type { IsolatedTask } from './isolate.ts'
import { type Log, writeLog } from './log.ts'
import type { Params } from './tool.ts'
import type { ToolExecutionError } from './tool-execution-error.ts'

/** What flights of one tool share: its name, and its places. */
export interface FlightHost {
  readonly name: string
  running: number
  forget(flight: Flight): void
}

type Flags = Readonly<Record<string, boolean>>
type Report = (progress: unknown) => void

/**
 * The work behind one call, or behind several identical ones. It is called off when nobody waits for it any more,
 * so a caller that gives up never takes the answer away from another.
 */
export class Flight {
  readonly host: FlightHost
  /** The parameters as validated; the handler has a copy of its own, so these stay what the caller sent. */
  readonly params: Params
  readonly tenant: string
  readonly flags: Flags
  readonly log: Log
  /** The work itself, where identical calls may join it. */
  work: Promise<unknown> | undefined = undefined
  /** What identical calls are known by; worked out when the first of them comes. */
  key: string | undefined = undefined
  /** Set where the work is done by a process of the pool. */
  task: IsolatedTask | undefined = undefined
  /** The trace that the work belongs to. */
  traceparent: string | undefined = undefined
  #running = false
  #waiting = 0
  #controller: AbortController | undefined = undefined
  #calledOff: ToolExecutionError | undefined = undefined
  #reports: Report[] | undefined = undefined

  constructor(host: FlightHost, params: Params, tenant: string, flags: Flags, log: Log) {
    this.host = host
    this.params = params
    this.tenant = tenant
    this.flags = flags
    this.log = log
  }

  /** From here on the tool runs, and takes one of its places. */
  begin(): void {
    this.#running = true
    this.host.running++
  }

  /** Made only when somebody asks: most handlers never do, and it is the dearest part of a call. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#calledOff !== undefined) this.#controller.abort(this.#calledOff)
    }
    return this.#controller.signal
  }

  get calledOff(): boolean {
    return this.#calledOff !== undefined
  }

  join(report: Report | undefined): void {
    this.#waiting++
    if (report === undefined) return
    this.#reports ??= []
    this.#reports.push(report)
  }

  leave(reason: ToolExecutionError, report: Report | undefined): void {
    if (report !== undefined) this.#reports = this.#reports?.filter((other) => other !== report)
    if (--this.#waiting > 0) return
    this.#calledOff = reason
    this.end()
    this.#controller?.abort(reason)
  }

  /** The work is over, or nobody cares any more: a handler that goes on regardless holds no place. */
  end(): void {
    if (!this.#running) return
    this.#running = false
    this.host.running--
    if (this.work !== undefined) this.host.forget(this)
  }

  report(progress: unknown): void {
    if (this.#reports === undefined || !this.#running) return
    for (const report of this.#reports) {
      try {
        report(progress)
      } catch (error) {
        writeLog(this.log, 'warn', { err: error, tool: this.host.name }, 'A listener for progress failed')
      }
    }
  }
}

/** What the handler sees of its flight. */
export class FlightContext implements HandlerContext {
  readonly #flight: Flight

  constructor(flight: Flight) {
    this.#flight = flight
  }

  get signal(): AbortSignal {
    return this.#flight.signal
  }

  get tenant(): string {
    return this.#flight.tenant
  }

  get flags(): Flags {
    return this.#flight.flags
  }

  get log(): Log {
    return this.#flight.log
  }

  get traceparent(): string | undefined {
    return this.#flight.traceparent
  }

  /** A function of its own, so that a handler may take it out of the context. */
  get report(): Report {
    const flight = this.#flight
    return (progress) => flight.report(progress)
  }
}
