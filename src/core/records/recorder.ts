import { type Clock, within } from '../clock.ts'
import type { Hold } from '../costs.ts'
import { type Log, writeLog } from '../log.ts'
import type { Params } from '../tool.ts'
import type { ToolErrorCode } from '../tool-result.ts'
import type { RecordFields } from './audit-columns.ts'
import { withoutCredentials } from './redact.ts'

/** The record of one call. */
export interface CallRecord extends RecordFields {
  readonly tool: string
  readonly tenant: string
  readonly caller: string | undefined
  readonly source: string | undefined
  readonly runId: string | undefined
  /** Set if the tool called other tools. Their records have it as `parentId`. */
  readonly id?: string | undefined
  readonly parentId?: string | undefined
  /** Undefined if the call was refused before its parameters were read. Only their hash is stored. */
  readonly params: Params | undefined
  /** The approval that the call asked for or used, and the parameters that were asked for. */
  readonly approval?: { readonly id: string; readonly params: Params } | undefined
  /** The number of values in the parameters. */
  readonly nodes: number
  readonly code: ToolErrorCode | undefined
  /** A write that failed and may have happened anyway. */
  readonly outcomeUnknown: boolean
  /** 0 if the call was refused or answered from the cache. */
  readonly attempts: number
  /** The hash of the tool's definition. */
  readonly schemaHash: string | undefined
  /** The version of the tool, if it has one. */
  readonly version?: string | undefined
  /** In millionths of the currency; undefined if it is unknown. */
  readonly cost?: number | undefined
  /** What budgets have set aside for the call, until its cost is stored. */
  readonly hold?: Hold | undefined
  /** The id of the API key that called, if there was one. */
  readonly keyId?: string | undefined
  readonly model: string | undefined
  /** The parameters and the outcome as JSON without secrets, if they are to be stored. */
  readonly payload?: CallPayload | undefined
  /** Monotonic; add `CallBatch.epoch` for the time of day. */
  readonly startedMs: number
  readonly executionTimeMs: number
}

/** The name of a tool as it is stored and shown. A name that no tool has is what a caller wrote, which may be a key. */
export const toolIn = ({ tool, schemaHash }: Pick<CallRecord, 'tool' | 'schemaHash'>): string =>
  schemaHash === undefined ? withoutCredentials(tool) : tool

export interface CallPayload {
  readonly content: string
  /** It is not stored if its tenant would store more bytes than these. */
  readonly storageBytes: number
}

export interface CallBatch {
  readonly records: readonly CallRecord[]
  readonly epoch: number
}

/** Receives batches of records. Its errors are logged and never reach a call. */
export interface RecordSink {
  /** Returns a promise if durable calls must wait for it. */
  write(batch: CallBatch): void | Promise<void>
}

/** A batch is flushed when it has this many records or values. Few: a record retains the context of its call. */
const MAX_RECORDS = 32
const MAX_VALUES = 200_000
/** The time of day is read in whole milliseconds: differences below this are no change of the time of day. */
const EPOCH_STEP_MS = 2

/** Collects records in memory and passes them to the sinks in batches, off the path of calls. */
export class Recorder {
  readonly #clock: Clock
  readonly #log: Log
  readonly #sinks: readonly RecordSink[]
  #records: CallRecord[] = []
  #values = 0
  #scheduled = false
  #epoch = Number.NEGATIVE_INFINITY
  #written: Promise<unknown> = Promise.resolve()

  constructor(clock: Clock, log: Log, sinks: readonly RecordSink[] = []) {
    this.#clock = clock
    this.#log = log
    this.#sinks = sinks
  }

  add(record: CallRecord): void {
    this.#records.push(record)
    this.#values += record.nodes
    if (this.#records.length >= MAX_RECORDS || this.#values >= MAX_VALUES) this.flush()
    else if (!this.#scheduled) {
      this.#scheduled = true
      setImmediate(() => {
        this.#scheduled = false
        this.flush()
      })
    }
  }

  flush(): void {
    const records = this.#records
    if (records.length === 0) return
    this.#records = []
    this.#values = 0
    this.#readEpoch()
    const batch = { records, epoch: this.#epoch }
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

  /** One epoch for all batches: records keep their order, however close together their calls began. */
  #readEpoch(): void {
    const before = this.#clock.now()
    const epoch = this.#clock.wall() - before
    if (Math.abs(epoch - this.#epoch) < EPOCH_STEP_MS) return
    // A process that was interrupted between the two readings would see a change of the time of day.
    const wasInterrupted = this.#clock.now() - before >= EPOCH_STEP_MS / 2
    if (!wasInterrupted || this.#epoch === Number.NEGATIVE_INFINITY) this.#epoch = epoch
  }

  /** Settles when the records so far are written or reported as lost, or after `timeoutMs`. */
  async written(timeoutMs: number): Promise<void> {
    // Calls that end together are written together.
    await new Promise((resolve) => setImmediate(resolve))
    this.flush()
    await within(timeoutMs, this.#written, this.#clock)
  }

  #failed(err: unknown, lost: number): void {
    writeLog(this.#log, 'error', { err, lost }, 'A record sink failed, its records of these calls are lost')
  }
}
