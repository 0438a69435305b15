import { LOCAL_TENANT } from '../../core/call.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { type Log, silentLog, writeLog } from '../../core/log.ts'
import type { ToolUseAddition, ToolUseStore } from '../../core/storage/tool-use-store.ts'
import { MemoryToolUses } from './memory-tool-uses.ts'
import type { ToolUse } from './tool-use.ts'
import { readToolUses } from './tool-use-file.ts'
import { type CurrentHash, type ToolUseRecord, toolUseRecord } from './tool-use-record.ts'
import { WaitingUses } from './waiting-uses.ts'

/** How long uses wait for others: a batch a second is nothing to any store. */
const GATHER_MS = 1_000
const LONGEST_PAUSE_MS = 30_000

export interface ToolUseTrackerOptions {
  /** Where the counts are kept; without it, in memory. */
  readonly store?: ToolUseStore
  readonly clock?: Clock
  readonly log?: Log
}

/**
 * How well each model uses each tool: counts suites and real runs, by tenant, model, tool and what the model was shown
 * of the tool. Uses are gathered in memory and written in batches, so that nobody who uses a tool waits for the store.
 */
export class ToolUseTracker {
  readonly #store: ToolUseStore
  readonly #clock: Clock
  readonly #log: Log
  readonly #waiting = new WaitingUses()
  #pauseMs = GATHER_MS
  #failing = false
  #writing: Promise<void> | undefined
  #callOff: (() => void) | undefined
  #closed = false

  constructor({ store, clock, log }: ToolUseTrackerOptions = {}) {
    this.#store = store ?? new MemoryToolUses()
    this.#clock = clock ?? systemClock
    this.#log = log ?? silentLog
  }

  /** Counts one use. One that says nothing about what the model can (`not_answered`) is left out. */
  record(use: ToolUse): void {
    if (this.#closed || (!use.outcome.passed && use.outcome.kind === 'not_answered')) return
    if (!this.#waiting.add(use, this.#clock.wall())) {
      if (this.#waiting.dropped === 1) {
        writeLog(
          this.#log,
          'warn',
          {},
          'How models use tools is not counted at the moment: too much waits for the store',
        )
      }
      return
    }
    this.#callOff ??= this.#clock.after(this.#pauseMs, () => void this.#writeSoon())
  }

  /** Settles when everything that was recorded so far is kept; rejects where the store does not take it. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing.catch(() => {})
    await this.#write()
  }

  /** How the tenant's models use the tools. `current` says what tools look like now; without it all are `gone`. */
  async list(tenant: string = LOCAL_TENANT, current: CurrentHash = () => undefined): Promise<ToolUseRecord[]> {
    await this.#writeSoon()
    return (await this.#store.list(tenant)).map((use) => toolUseRecord(use, current))
  }

  /** Puts the counts of a file in the place of those that the tenant has; a file that is no good changes nothing. */
  async load(file: string, tenant: string = LOCAL_TENANT): Promise<void> {
    const uses = await readToolUses(file)
    await this.flush()
    await this.#store.replace(tenant, uses)
  }

  /** Writes what is left, as far as the store takes it, and counts nothing more. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#writeSoon()
    this.#callOff?.()
  }

  /** Says once that it does not work, and tries again later. */
  async #writeSoon(): Promise<void> {
    try {
      await this.flush()
    } catch (err) {
      if (!this.#failing) writeLog(this.#log, 'warn', { err }, 'How models use tools could not be written: tried again')
      this.#failing = true
      this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS)
      if (!this.#closed) this.#callOff ??= this.#clock.after(this.#pauseMs, () => void this.#writeSoon())
    }
  }

  #write(): Promise<void> {
    this.#callOff?.()
    this.#callOff = undefined
    const taken = this.#waiting.take()
    if (taken.length === 0) return Promise.resolve()
    this.#writing = this.#add(taken).finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #add(taken: readonly ToolUseAddition[]): Promise<void> {
    try {
      await this.#store.add(taken)
      this.#failing = false
      this.#pauseMs = GATHER_MS
    } catch (error) {
      this.#waiting.putBack(taken)
      throw error
    }
  }
}
