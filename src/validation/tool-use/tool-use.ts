import { createHash } from 'node:crypto'
import { canonicalText } from '../../core/schema/canonical-text.ts'
import type { StoredToolUse, ToolUseCount, ToolUseFailure, ToolUseSource } from '../../core/storage/tool-use-store.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import type { ToolRegistry } from '../../core/tool-registry.ts'
import type { OfferedTool } from '../../models/model.ts'
import type { FailureKind } from '../suites/suite.ts'

/** What a model did wrong: as in suites, or in a way that only real runs show. */
export type ToolUseFailureKind =
  | FailureKind
  /** It called a tool that it was not offered. */
  | 'unknown_tool'
  /** It wrote the call as text, where it was found. */
  | 'recovered_call'

/** Whether a tool was used as it should be; the verdict of a case is one. */
export type ToolUseOutcome =
  | { readonly passed: true }
  | {
      readonly passed: false
      readonly kind: ToolUseFailureKind
      readonly message: string
      readonly expected?: unknown
      readonly actual?: unknown
    }

/** One use of a tool by a model. */
export interface ToolUse {
  readonly tenant: string
  /** `provider:model`. */
  readonly model: string
  readonly tool: string
  /** By `schemaHash`. */
  readonly schemaHash: string
  readonly outcome: ToolUseOutcome
  readonly source: ToolUseSource
  /** The run that it happened in. */
  readonly runId?: string
}

/** Stands for all tools that a model made up, so that its inventions do not fill the table. */
export const UNKNOWN_TOOL = '(unknown)'

/** Whether a count is of the tool as it is now. */
export type SchemaState =
  | 'current'
  /** The tool has another description or other parameters by now. */
  | 'changed'
  /** There is no tool of that name. */
  | 'gone'

/** How a model uses a tool, with what follows from the counts. */
export interface ToolUseRecord extends ToolUseCount {
  readonly model_id: string
  readonly tool: string
  readonly schema_hash: string
  readonly schema: SchemaState
  readonly rate: number
  /** What the true rate is at least, with 95 % certainty. */
  readonly lower_bound: number
  readonly last_used: string
  readonly suite: ToolUseCount
  readonly run: ToolUseCount
  readonly failure_kinds: Readonly<Record<string, number>>
  /** The newest last. */
  readonly failures: readonly ToolUseFailure[]
}

/** Gives the hash of a tool as it is now; undefined where there is none of that name. */
export type CurrentHash = (tool: string) => string | undefined

/** What the counts mean: nothing of it is kept, so that it can never disagree with them. */
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
    suite,
    run,
    failure_kinds,
    failures,
  }
}

/** Rounded to four places, which is more than any number of trials can tell apart. */
export const rates = (successes: number, trials: number): { readonly rate: number; readonly lower_bound: number } => ({
  rate: rounded(trials === 0 ? 0 : successes / trials),
  lower_bound: rounded(wilsonLowerBound(successes, trials)),
})

const rounded = (rate: number): number => Math.round(rate * 10_000) / 10_000

/** Of the normal distribution, for 95 %. */
const Z = 1.959964

/**
 * What the true rate is at least, with 95 % certainty (Wilson's interval): 4 of 5 prove less than 80 of 100. 0 where
 * nothing was tried.
 */
export function wilsonLowerBound(successes: number, trials: number): number {
  if (trials === 0) return 0
  const rate = successes / trials
  const z2 = Z * Z
  const middle = rate + z2 / (2 * trials)
  const spread = Z * Math.sqrt((rate * (1 - rate) + z2 / (4 * trials)) / trials)
  return Math.max(0, (middle - spread) / (1 + z2 / trials))
}

const known = new WeakMap<OfferedTool, string>()

/**
 * Names what a model is shown of a tool: its description and its parameters. How the tool is run does not enter into
 * it, so that a mock in a suite and the real tool are the same to a model. A better description is another tool to it,
 * and deserves a new count.
 */
export function schemaHash(tool: OfferedTool): string {
  let hash = known.get(tool)
  if (hash === undefined) {
    const shown = canonicalText([tool.description, tool.parameters])
    hash = createHash('sha256').update(shown).digest('hex').slice(0, 16)
    known.set(tool, hash)
  }
  return hash
}

/** Finds tools of a registry as models are shown them. */
export const currentTool =
  (registry: ToolRegistry) =>
  (name: string): ToolDefinition | undefined => {
    const tool = registry.find(name)
    return tool && registry.definitionOf(tool)
  }
