import { createHash } from 'node:crypto'
import type { CallContext } from '../../core/call-context.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { canonicalText } from '../../core/json/canonical-text.ts'
import type { StoredToolUse, ToolUseCount, ToolUseFailure, ToolUseSource } from '../../core/storage/tool-use-store.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import type { OfferedTool } from '../../models/model.ts'
import type { FailureKind } from '../suites/suite.ts'

/** What a model did wrong, in a suite or in a real run. */
export type ToolUseFailureKind =
  | FailureKind
  | 'unknown_tool'
  /** It wrote the call as text instead of making it. */
  | 'recovered_call'

/** Whether a tool was used correctly; the verdict of a case is one. */
export type ToolUseOutcome =
  | { readonly passed: true }
  | {
      readonly passed: false
      readonly kind: ToolUseFailureKind
      readonly message: string
      readonly expected?: unknown
      readonly actual?: unknown
    }

export interface ToolUse {
  readonly tenant: string
  readonly model: string
  readonly tool: string
  readonly schemaHash: string
  readonly outcome: ToolUseOutcome
  readonly source: ToolUseSource
  readonly runId?: string
}

/** Stands for all nonexistent tools, so that invented names don't fill the table. */
export const UNKNOWN_TOOL = '(unknown)'

/** Whether a count is for the tool's current schema. */
type SchemaState =
  | 'current'
  | 'changed'
  /** The tool doesn't exist any more. */
  | 'gone'

export interface RatedCount extends ToolUseCount {
  readonly rate: number
  readonly lower_bound: number
}

export interface ToolUseRecord extends ToolUseCount {
  readonly model_id: string
  readonly tool: string
  readonly schema_hash: string
  readonly schema: SchemaState
  readonly rate: number
  readonly lower_bound: number
  readonly last_used: string
  /** Judged cases: whether the call was the right one. */
  readonly suite: RatedCount
  /** Real calls: only whether they were well-formed. */
  readonly run: RatedCount
  readonly failure_kinds: Readonly<Record<string, number>>
  readonly failures: readonly ToolUseFailure[]
}

/** Returns the hash of a tool's current schema; undefined if the tool doesn't exist. */
export type CurrentHash = (tool: string) => string | undefined

/** Derives rates and state from stored counts; they aren't stored, so they can't disagree with the counts. */
export function toolUseRecord(stored: StoredToolUse, current: CurrentHash): ToolUseRecord {
  const { model_id, tool, schema_hash, suite, run, last_used, failure_kinds, failures } = stored
  const now = current(tool)
  const trials = suite.trials + run.trials
  const successes = suite.successes + run.successes
  return {
    model_id,
    tool,
    schema_hash,
    schema: now === undefined ? 'gone' : now === schema_hash ? 'current' : 'changed',
    trials,
    successes,
    ...rates(successes, trials),
    last_used,
    suite: rated(suite),
    run: rated(run),
    failure_kinds,
    failures,
  }
}

const rated = (count: ToolUseCount): RatedCount => ({ ...count, ...rates(count.successes, count.trials) })

/** The rate and its lower bound, rounded to four places. */
export const rates = (successes: number, trials: number): { readonly rate: number; readonly lower_bound: number } => ({
  rate: rounded(trials === 0 ? 0 : successes / trials),
  lower_bound: rounded(wilsonLowerBound(successes, trials)),
})

const rounded = (rate: number): number => Math.round(rate * 10_000) / 10_000

const Z = 1.959964

/**
 * The lower end of Wilson's 95 % confidence interval, 0 without trials. It takes the number of trials into account: 4 of
 * 5 prove less than 80 of 100.
 */
export function wilsonLowerBound(successes: number, trials: number): number {
  if (trials === 0) return 0
  const rate = successes / trials
  const z2 = Z * Z
  const middle = rate + z2 / (2 * trials)
  const spread = Z * Math.sqrt((rate * (1 - rate) + z2 / (4 * trials)) / trials)
  return Math.max(0, (middle - spread) / (1 + z2 / trials))
}

const hashes = new WeakMap<OfferedTool, string>()

/**
 * Hashes what a model sees of a tool: description and parameters. A mock in a suite has the same hash as the real tool;
 * a changed description starts a new count.
 */
export function schemaHash(tool: OfferedTool): string {
  let hash = hashes.get(tool)
  if (hash === undefined) {
    const shown = canonicalText([tool.description, tool.parameters])
    hash = createHash('sha256').update(shown).digest('hex').slice(0, 16)
    hashes.set(tool, hash)
  }
  return hash
}

/** Looks up tools of a registry as models see them. */
export const currentTool =
  (registry: ToolRegistry, caller?: CallContext) =>
  (name: string): ToolDefinition | undefined => {
    const tool = registry.find(name, caller)
    return tool && registry.definitionOf(tool)
  }
