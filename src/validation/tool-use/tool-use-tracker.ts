import { LOCAL_TENANT } from '../../core/call.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { type Log, silentLog, writeLog } from '../../core/log.ts'
import { redact, redactText } from '../../core/redact.ts'
import { addToolUse } from '../../core/storage/add-tool-use.ts'
import {
  type DoubtfulToolUse,
  KEPT_FAILURES,
  KEPT_SCHEMAS,
  type StoredToolUse,
  type ToolUseAddition,
  type ToolUseFailure,
  type ToolUseStore,
} from '../../core/storage/tool-use-store.ts'
import { storableText } from '../../storage/ledger/storable-text.ts'
import { type CurrentHash, type ToolUse, type ToolUseRecord, toolUseRecord } from './tool-use.ts'
import { readToolUses } from './tool-use-file.ts'

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

/** Pairs of model and tool that wait for a store that takes nothing; more are dropped. */
const MOST_WAITING = 10_000
const LONGEST_MESSAGE = 500
const LONGEST_VALUE = 300

const NONE = { trials: 0, successes: 0 }

/** Uses that are not written yet: summed up, so that they take no more room the longer they wait. */
class WaitingUses {
  readonly #uses = new Map<string, ToolUseAddition>()
  /** How many were not taken since there was room last. */
  dropped = 0

  /** False where there is no room for it. */
  add(use: ToolUse, now: number): boolean {
    const timestamp = new Date(now).toISOString()
    const { outcome, source } = use
    const count = { trials: 1, successes: outcome.passed ? 1 : 0 }
    return this.#add({
      tenant: use.tenant,
      model_id: storableText(use.model),
      tool: storableText(use.tool),
      schema_hash: use.schemaHash,
      suite: source === 'suite' ? count : NONE,
      run: source === 'run' ? count : NONE,
      last_used: timestamp,
      failure_kinds: outcome.passed ? {} : { [outcome.kind]: 1 },
      failures: outcome.passed ? [] : [failureOf(use, outcome, timestamp)],
    })
  }

  /** All that wait, which then wait no more. */
  take(): readonly ToolUseAddition[] {
    const taken = [...this.#uses.values()]
    this.#uses.clear()
    this.dropped = 0
    return taken
  }

  /** What could not be written stands before what came since. */
  putBack(taken: readonly ToolUseAddition[]): void {
    const since = this.take()
    for (const addition of [...taken, ...since]) this.#add(addition)
  }

  #add(addition: ToolUseAddition): boolean {
    const { tenant, ...more } = addition
    const key = JSON.stringify([tenant, more.model_id, more.tool, more.schema_hash])
    const before: StoredToolUse | undefined = this.#uses.get(key)
    if (before === undefined && this.#uses.size >= MOST_WAITING) {
      this.dropped++
      return false
    }
    this.#uses.set(key, { tenant, ...addToolUse(before, more) })
    return true
  }
}

type Failed = Extract<ToolUse['outcome'], { passed: false }>

function failureOf(
  { source, runId }: ToolUse,
  { kind, message, ...values }: Failed,
  timestamp: string,
): ToolUseFailure {
  return {
    timestamp,
    source,
    kind,
    message: redactText(message, LONGEST_MESSAGE),
    ...(values.expected !== undefined && { expected: shortened(values.expected) }),
    ...(values.actual !== undefined && { actual: shortened(values.actual) }),
    ...(runId !== undefined && { run_id: storableText(runId) }),
  }
}

function shortened(value: unknown): string {
  const kept = typeof value === 'string' ? value : (JSON.stringify(redact(value)) ?? '')
  return redactText(kept, LONGEST_VALUE)
}

/** Counts of one process, gone when it ends. */
export class MemoryToolUses implements ToolUseStore {
  readonly #tenants = new Map<string, Map<string, StoredToolUse>>()

  async list(tenant: string): Promise<readonly StoredToolUse[]> {
    const uses = this.#tenants.get(tenant) ?? new Map<string, StoredToolUse>()
    return structuredClone([...uses].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, use]) => use))
  }

  async add(additions: readonly ToolUseAddition[]): Promise<void> {
    for (const { tenant, ...more } of structuredClone(additions)) {
      const uses = this.#tenants.get(tenant) ?? new Map<string, StoredToolUse>()
      this.#tenants.set(tenant, uses)
      uses.set(keyOf(more), addToolUse(uses.get(keyOf(more)), more))
      const same = [...uses.values()].filter(({ model_id, tool }) => model_id === more.model_id && tool === more.tool)
      const oldest = same.sort((a, b) => (a.last_used < b.last_used ? 1 : -1)).slice(KEPT_SCHEMAS)
      for (const use of oldest) uses.delete(keyOf(use))
    }
  }

  async replace(tenant: string, uses: readonly StoredToolUse[]): Promise<void> {
    const kept = structuredClone(uses).map((use) => ({ ...use, failures: use.failures.slice(-KEPT_FAILURES) }))
    this.#tenants.set(tenant, new Map(kept.map((use) => [keyOf(use), use])))
  }

  async doubtful(minimumTrials: number, threshold: number): Promise<readonly DoubtfulToolUse[]> {
    const found: DoubtfulToolUse[] = []
    for (const [tenant, uses] of this.#tenants) {
      for (const { model_id, tool, schema_hash, suite, run } of uses.values()) {
        const trials = suite.trials + run.trials
        const successes = suite.successes + run.successes
        if (trials < minimumTrials || successes >= threshold * trials) continue
        found.push({ tenant, model_id, tool, schema_hash, trials, successes })
      }
    }
    return found
  }
}

const keyOf = ({ model_id, tool, schema_hash }: StoredToolUse): string => JSON.stringify([model_id, tool, schema_hash])
