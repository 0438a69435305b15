import type { Clock } from './clock.ts'
import { type Log, writeLog } from './log.ts'
import type { Params } from './tool.ts'
import type { ToolErrorCode } from './tool-error-code.ts'

/** What is kept of one call. */
export interface CallRecord {
  readonly tool: string
  readonly tenant: string
  readonly caller: string | undefined
  readonly source: string | undefined
  readonly runId: string | undefined
  /** Undefined where the call was refused before its parameters could be read. Never stored: only their hash is. */
  readonly params: Params | undefined
  /** How many values the parameters hold. */
  readonly nodes: number
  readonly code: ToolErrorCode | undefined
  /** A write that failed, and may have happened. */
  readonly outcomeUnknown: boolean
  /** How often the tool was run for it: 0 where it was refused or answered from what was known. */
  readonly attempts: number
  /** Names the definition that was called; undefined where there was none. */
  readonly schemaHash: string | undefined
  /** The model that asked for it. */
  readonly model: string | undefined
  /** On the clock's scale; `CallBatch.epoch` added to it gives the time of day. */
  readonly startedMs: number
  readonly executionTimeMs: number
}

/** Records of calls in the order they ended. */
export interface CallBatch {
  readonly records: readonly CallRecord[]
  readonly epoch: number
}

/** Takes batches of records. What it throws, or rejects with, is reported and never reaches a call. */
export interface RecordSink {
  /** A promise where it matters when the records are safe. */
  write(batch: CallBatch): void | Promise<void>
}

/** A batch is handed on at once when it has this many records, or holds on to this many values. */
const MOST_RECORDS = 256
const MOST_VALUES = 200_000

/** Collects records on the path of a call, one array push each, and hands them on in batches off it. */
export class Recorder {
  readonly #clock: Clock
  readonly #log: Log
  readonly #sinks: RecordSink[]
  #records: CallRecord[] = []
  #values = 0
  #scheduled = false
  /** Settles when all that was handed on so far is written. */
  #written: Promise<unknown> = Promise.resolve()

  constructor(clock: Clock, log: Log, sinks: readonly RecordSink[] = []) {
    this.#clock = clock
    this.#log = log
    this.#sinks = [...sinks]
  }

  addSink(sink: RecordSink): void {
    this.#sinks.push(sink)
  }

  add(record: CallRecord): void {
    this.#records.push(record)
    this.#values += record.nodes
    if (this.#records.length >= MOST_RECORDS || this.#values >= MOST_VALUES) this.flush()
    else if (!this.#scheduled) {
      this.#scheduled = true
      setImmediate(() => {
        this.#scheduled = false
        this.flush()
      })
    }
  }

  /** Hands on what has been collected, now. */
  flush(): void {
    const records = this.#records
    if (records.length === 0) return
    this.#records = []
    this.#values = 0
    const batch = { records, epoch: this.#clock.wall() - this.#clock.now() }
    const failed = (err: unknown) => this.#failed(err, records.length)
    for (const sink of this.#sinks) {
      try {
        const written = sink.write(batch)
        if (written instanceof Promise) this.#written = Promise.all([this.#written, written.catch(failed)])
      } catch (error) {
        failed(error)
      }
    }
  }

  /** Settles when everything collected so far is written or has been reported as lost, or after `longestMs`. */
  async written(longestMs: number): Promise<void> {
    // One turn later: calls that end together are written together.
    await new Promise((resolve) => setImmediate(resolve))
    this.flush()
    await new Promise<void>((resolve) => {
      const callOff = this.#clock.after(longestMs, resolve)
      this.#written.then(() => {
        callOff()
        resolve()
      })
    })
  }

  #failed(err: unknown, lost: number): void {
    writeLog(this.#log, 'error', { err, lost }, 'A record sink failed: its records of these calls are lost')
  }
}
