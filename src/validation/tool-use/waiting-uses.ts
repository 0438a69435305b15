import { redact, redactText } from '../../core/redact.ts'
import {
  addToolUse,
  type StoredToolUse,
  type ToolUseAddition,
  type ToolUseFailure,
} from '../../core/storage/tool-use-store.ts'
import { storableText } from '../../storage/ledger/storable-text.ts'
import type { ToolUse } from './tool-use.ts'

/** Pairs of model and tool that wait for a store that takes nothing; more are dropped. */
const MOST_WAITING = 10_000
const LONGEST_MESSAGE = 500
const LONGEST_VALUE = 300

const NONE = { trials: 0, successes: 0 }

/** Uses that are not written yet: summed up, so that they take no more room the longer they wait. */
export class WaitingUses {
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
