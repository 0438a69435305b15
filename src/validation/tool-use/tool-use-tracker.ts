import type { TrackedCall } from '../../chat/run.ts'
import type { OnCalls } from '../../chat/run-observer.ts'
import type { CallContext } from '../../core/call-context.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { LOCAL_TENANT } from '../../core/execution/call.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { type Log, silentLog, writeLog } from '../../core/log.ts'
import { redact, redactText } from '../../core/records/redact.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import {
  addToolUse,
  type ToolUseAddition,
  type ToolUseFailure,
  type ToolUseStore,
} from '../../core/storage/tool-use-store.ts'
import type { Problem } from '../../core/tool-result.ts'
import type { OfferedTool } from '../../models/model.ts'
import { storableText } from '../../storage/ledger/storable-text.ts'
import {
  type CurrentHash,
  currentTool,
  schemaHash,
  type ToolUse,
  type ToolUseFailureKind,
  type ToolUseOutcome,
  type ToolUseRecord,
  toolUseRecord,
  UNKNOWN_TOOL,
} from './tool-use.ts'
import { readToolUses } from './tool-use-file.ts'

const BATCH_INTERVAL_MS = 1_000
const MAX_RETRY_INTERVAL_MS = 30_000
/** Pairs of model and tool that wait for the store; more are dropped. */
const MAX_WAITING = 10_000
const MAX_MESSAGE_CHARACTERS = 500
const MAX_VALUE_CHARACTERS = 300

interface ToolUseTrackerOptions {
  readonly store: ToolUseStore
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
  /** Additions that aren't stored yet, summed up per model and tool to bound memory. */
  readonly #waiting = new Map<string, ToolUseAddition>()
  #dropped = 0
  #intervalMs = BATCH_INTERVAL_MS
  #failing = false
  #writing: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined
  #closed = false

  constructor({ store, clock, log }: ToolUseTrackerOptions) {
    this.#store = store
    this.#clock = clock ?? systemClock
    this.#log = log ?? silentLog
  }

  /** Counts one use; ignores `not_answered`, which says nothing about the model. */
  record(use: ToolUse): void {
    if (this.#closed || (!use.outcome.passed && use.outcome.kind === 'not_answered')) return
    if (!this.#wait(additionOf(use, this.#clock.wall()))) {
      if (++this.#dropped === 1) {
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
    const taken = this.#take()
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
      const since = this.#take()
      for (const addition of [...taken, ...since]) this.#wait(addition)
      throw error
    }
  }

  #take(): ToolUseAddition[] {
    const taken = [...this.#waiting.values()]
    this.#waiting.clear()
    this.#dropped = 0
    return taken
  }

  /** Returns false if there is no room. */
  #wait({ tenant, ...more }: ToolUseAddition): boolean {
    const key = JSON.stringify([tenant, more.model_id, more.tool, more.schema_hash])
    const before = this.#waiting.get(key)
    if (before === undefined && this.#waiting.size >= MAX_WAITING) return false
    this.#waiting.set(key, { tenant, ...addToolUse(before, more) })
    return true
  }
}

const NONE = { trials: 0, successes: 0 }

function additionOf(use: ToolUse, now: number): ToolUseAddition {
  const timestamp = new Date(now).toISOString()
  const { outcome, source } = use
  const count = { trials: 1, successes: outcome.passed ? 1 : 0 }
  return {
    tenant: use.tenant,
    model_id: storableText(use.model),
    tool: storableText(use.tool),
    schema_hash: use.schemaHash,
    suite: source === 'suite' ? count : NONE,
    run: source === 'run' ? count : NONE,
    last_used: timestamp,
    failure_kinds: outcome.passed ? {} : { [outcome.kind]: 1 },
    failures: outcome.passed ? [] : [failureOf(use, outcome, timestamp)],
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

/** Returns a listener that counts how models use the tools of a registry. */
export function countUses(tracker: ToolUseTracker, registry: ToolRegistry): OnCalls {
  return (calls, context) => {
    for (const use of runUses(calls, context, currentTool(registry, context))) tracker.record(use)
  }
}

const PASSED: ToolUseOutcome = Object.freeze({ passed: true })
const NO_SCHEMA = ''

/**
 * Judges the calls of a run. Unknown, malformed and invalid calls and calls recovered from text are failures of the
 * model. A call that reached the tool isn't, even if the tool fails, times out or is forbidden.
 */
export function runUses(
  calls: readonly TrackedCall[],
  { tenant = LOCAL_TENANT, model, runId }: CallContext,
  find: (tool: string) => OfferedTool | undefined,
): ToolUse[] {
  if (model === undefined) return []
  const uses: ToolUse[] = []
  for (const call of calls) {
    // Calls by the user's own request, and calls that never ran.
    if (call.iteration === 0 || call.not_run) continue
    const outcome = outcomeOf(call)
    const unknown = !outcome.passed && outcome.kind === 'unknown_tool'
    const tool = unknown ? undefined : find(call.tool)
    uses.push({
      tenant,
      model,
      tool: tool?.name ?? UNKNOWN_TOOL,
      schemaHash: tool === undefined ? NO_SCHEMA : schemaHash(tool),
      outcome,
      source: 'run',
      ...(runId !== undefined && { runId }),
    })
  }
  return uses
}

function outcomeOf({ tool, params, result, recovered }: TrackedCall): ToolUseOutcome {
  if (!result.success && result.error_code === 'TOOL_NOT_FOUND') {
    return { passed: false, kind: 'unknown_tool', message: result.error, actual: tool }
  }
  if (!result.success && result.error_code === 'INVALID_PARAMETERS') {
    const [problem] = result.details?.problems ?? []
    return {
      passed: false,
      kind: isObject(params) ? kindOf(problem) : 'malformed_call',
      message: result.error,
      ...(problem !== undefined && { expected: problem }),
      actual: params,
    }
  }
  if (recovered) {
    const message = `The call of '${tool}' was written as text`
    return { passed: false, kind: 'recovered_call', message, actual: params }
  }
  return PASSED
}

/** Maps the first violated schema rule. */
function kindOf(problem: Problem | undefined): ToolUseFailureKind {
  switch (problem?.rule) {
    case 'required':
    case 'dependentRequired':
      return 'missing_parameter'
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return 'unexpected_parameter'
    case 'type':
      return 'wrong_type'
    default:
      return 'wrong_value'
  }
}
