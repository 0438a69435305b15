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

const BATCH_INTERVAL_MS = 1_000
const MAX_RETRY_INTERVAL_MS = 30_000
/** Pairs of model and tool that wait for the store; more are dropped. */
const MAX_WAITING = 10_000
const MAX_MESSAGE_CHARACTERS = 500
const MAX_VALUE_CHARACTERS = 300

export interface ToolUseTrackerOptions {
  /** Where counts are stored; in memory by default. */
  readonly store?: ToolUseStore
  readonly clock?: Clock
  readonly log?: Log
}

/**
 * Counts how well each model uses each tool, in suites and in real runs, by tenant, model, tool and schema. Writes in
 * batches, so that runs never wait for the store.
 */
export class ToolUseTracker {
  readonly #store: ToolUseStore
  readonly #clock: Clock
  readonly #log: Log
  readonly #waiting = new WaitingUses()
  #intervalMs = BATCH_INTERVAL_MS
  #failing = false
  #writing: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined
  #closed = false

  constructor({ store, clock, log }: ToolUseTrackerOptions = {}) {
    this.#store = store ?? new MemoryToolUses()
    this.#clock = clock ?? systemClock
    this.#log = log ?? silentLog
  }

  /** Counts one use; ignores `not_answered`, which says nothing about the model. */
  record(use: ToolUse): void {
    if (this.#closed || (!use.outcome.passed && use.outcome.kind === 'not_answered')) return
    if (!this.#waiting.add(use, this.#clock.wall())) {
      if (this.#waiting.dropped === 1) {
        writeLog(this.#log, 'warn', {}, 'Tool use is not counted: too many entries wait for the store')
      }
      return
    }
    this.#cancelTimer ??= this.#clock.after(this.#intervalMs, () => void this.#writeSoon())
  }

  /** Writes everything recorded so far; rejects if the store fails. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing.catch(() => {})
    await this.#write()
  }

  /** Lists the tenant's records. `current` gives the hashes of the existing tools; without it all tools are `gone`. */
  async list(tenant: string = LOCAL_TENANT, current: CurrentHash = () => undefined): Promise<ToolUseRecord[]> {
    await this.#writeSoon()
    return (await this.#store.list(tenant)).map((use) => toolUseRecord(use, current))
  }

  /** Replaces the tenant's counts with those in a file; an invalid file changes nothing. */
  async load(file: string, tenant: string = LOCAL_TENANT): Promise<void> {
    const uses = await readToolUses(file)
    await this.flush()
    await this.#store.replace(tenant, uses)
  }

  /** Tries to write what is left, and stops counting. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#writeSoon()
    this.#cancelTimer?.()
  }

  /** Logs the first failure, and retries later. */
  async #writeSoon(): Promise<void> {
    try {
      await this.flush()
    } catch (err) {
      if (!this.#failing) writeLog(this.#log, 'warn', { err }, 'Could not store tool use counts: retrying')
      this.#failing = true
      this.#intervalMs = Math.min(this.#intervalMs * 2, MAX_RETRY_INTERVAL_MS)
      if (!this.#closed) this.#cancelTimer ??= this.#clock.after(this.#intervalMs, () => void this.#writeSoon())
    }
  }

  #write(): Promise<void> {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
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
      this.#intervalMs = BATCH_INTERVAL_MS
    } catch (error) {
      this.#waiting.putBack(taken)
      throw error
    }
  }
}

const NONE = { trials: 0, successes: 0 }

/** Uses that aren't stored yet, summed up per model and tool to bound memory. */
class WaitingUses {
  readonly #uses = new Map<string, ToolUseAddition>()
  /** The number of uses dropped since the last `take`. */
  dropped = 0

  /** Returns false if there is no room. */
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

  /** Removes and returns everything that waits. */
  take(): readonly ToolUseAddition[] {
    const taken = [...this.#uses.values()]
    this.#uses.clear()
    this.dropped = 0
    return taken
  }

  /** Adds entries that could not be stored, before those that came since. */
  putBack(taken: readonly ToolUseAddition[]): void {
    const since = this.take()
    for (const addition of [...taken, ...since]) this.#add(addition)
  }

  #add(addition: ToolUseAddition): boolean {
    const { tenant, ...more } = addition
    const key = JSON.stringify([tenant, more.model_id, more.tool, more.schema_hash])
    const before: StoredToolUse | undefined = this.#uses.get(key)
    if (before === undefined && this.#uses.size >= MAX_WAITING) {
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
    message: redactText(message, MAX_MESSAGE_CHARACTERS),
    ...(values.expected !== undefined && { expected: shortened(values.expected) }),
    ...(values.actual !== undefined && { actual: shortened(values.actual) }),
    ...(runId !== undefined && { run_id: storableText(runId) }),
  }
}

function shortened(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(redact(value)) ?? '')
  return redactText(text, MAX_VALUE_CHARACTERS)
}

/** Keeps counts in memory. */
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
    const copies = structuredClone(uses).map((use) => ({ ...use, failures: use.failures.slice(-KEPT_FAILURES) }))
    this.#tenants.set(tenant, new Map(copies.map((use) => [keyOf(use), use])))
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
