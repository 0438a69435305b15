import type { Spending } from '../core/call-context.ts'
import type { ToolResult } from '../core/tool-result.ts'
import type { FinishReason, Metadata, Model, ModelEvent, ToolCall, Usage } from '../models/model.ts'

/** A complete model answer that calls tools, or one that the model has to correct. Stored before the run goes on. */
interface AnswerStep {
  readonly kind: 'answer'
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly reason: FinishReason
  readonly raw_reason?: string
  readonly usage?: Usage
  readonly metadata?: Metadata
  /** By tool: the versions that the calls were offered. Runs of older releases have none. */
  readonly versions?: Readonly<Record<string, string>>
  /** What the model is told, if it has to correct the answer. */
  readonly again?: string
  /** The time that the run has worked so far. Waiting for a person doesn't count. */
  readonly used_ms: number
}

/** Results of the answer before it. A call that waits for approval gets another result later. */
interface ResultsStep {
  readonly kind: 'results'
  readonly results: readonly { readonly index: number; readonly result: ToolResult }[]
  /** What the run and its agents have spent so far, if it has a budget. */
  readonly spent?: Spending
  readonly used_ms: number
}

export type JournalStep = AnswerStep | ResultsStep

/** The stored steps of a run. The loop replays them instead of asking the model and running the calls again. */
export interface Journal {
  readonly steps: readonly JournalStep[]
  /** When the run began, if it is continued. Milliseconds since 1970. */
  readonly startedAt?: number
  /** Calls that may write get idempotency keys of the run and the step, so that none runs twice. */
  readonly keyed: boolean
  /**
   * Rejects if the run belongs to another process now. `waits`: the run ends here, until calls are approved. `claims`: the
   * calls that may write claim their keys at once, so that the step can be stored with these.
   */
  append(step: JournalStep, how?: 'waits' | 'claims'): Promise<void>
  /** The run goes on elsewhere: its end is not recorded here. */
  abandoned?(): boolean
}

/** The versions of the tools that a run has called so far, which it calls again; undefined if it has called none. */
export function calledVersions(journal: Journal | undefined): ReadonlyMap<string, string> | undefined {
  const called = journal?.steps.flatMap((step) => (step.kind === 'answer' ? Object.entries(step.versions ?? {}) : []))
  return called === undefined || called.length === 0 ? undefined : new Map(called)
}

/** What the calls of one turn need of the journal. */
export interface TurnJournal {
  readonly keyed: boolean
  /** Whether the answer of the turn is a stored one: its calls may have begun before. */
  readonly replayed: boolean
  readonly stored: ReadonlyMap<number, ToolResult>
}

/** The steps of a run, one after the other. */
export class Replay {
  readonly #steps: readonly JournalStep[]
  #next = 0
  /** What the model was told about the last stored answer, if it had to correct it. */
  again: string | undefined = undefined
  /** What the run had spent with the last stored results. */
  spent: Spending | undefined = undefined

  constructor(steps: readonly JournalStep[]) {
    this.#steps = steps
  }

  get usedMs(): number {
    return this.#steps.at(-1)?.used_ms ?? 0
  }

  /** A model that repeats the next stored answer, if there is one. */
  answer(id: string): Model | undefined {
    const step = this.#steps[this.#next]
    if (step?.kind !== 'answer') return undefined
    this.#next++
    this.again = step.again
    return {
      id,
      async *stream(): AsyncGenerator<ModelEvent> {
        const { text, calls, reason, raw_reason, usage, metadata } = step
        if (text !== '') yield { type: 'text-delta', text }
        for (const call of calls) yield { type: 'tool-call-end', call }
        yield {
          type: 'finish',
          reason,
          ...(raw_reason !== undefined && { raw_reason }),
          ...(usage !== undefined && { usage }),
          ...(metadata !== undefined && { metadata }),
        }
      },
    }
  }

  /** The stored results of the last answer, by the index of the call. */
  results(): ReadonlyMap<number, ToolResult> {
    const stored = new Map<number, ToolResult>()
    for (let step = this.#steps[this.#next]; step?.kind === 'results'; step = this.#steps[++this.#next]) {
      for (const { index, result } of step.results) stored.set(index, result)
      this.spent = step.spent
    }
    return stored
  }
}
