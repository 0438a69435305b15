import type { StoredToolUse, ToolUseCount, ToolUseFailure } from '../../core/storage/tool-use-store.ts'
import { wilsonLowerBound } from './wilson-lower-bound.ts'

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
