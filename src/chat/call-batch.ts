import type { CallContext } from '../core/call-context.ts'
import type { ToolExecutor } from '../core/execution/tool-executor.ts'
import { parseJson } from '../core/json/json-depth.ts'
import { LIMITS } from '../core/snapshot.ts'
import { type RequestedApproval, ToolExecutionError, type ToolResult } from '../core/tool-result.ts'
import type { ToolCall } from '../models/model.ts'
import type { CallGuard } from './call-guard.ts'
import type { TurnJournal } from './journal.ts'
import type { PendingApproval, RunEvent, TrackedCall } from './run.ts'
import type { RunObserver } from './run-observer.ts'

interface CallingTurn {
  readonly context: CallContext
  readonly guard: CallGuard
  readonly iteration: number
  readonly observers: readonly RunObserver[]
  /** Calls that need approval wait for it only with a journal. */
  readonly journal?: TurnJournal | undefined
}

interface Judged {
  readonly call: ToolCall
  readonly params: unknown
  readonly refusal: ToolExecutionError | undefined
}

const NOT_RUN = { not_run: true } as const

/** Runs the calls of one turn concurrently, up to a limit, and returns the results in the model's order. */
export class CallBatch {
  /** A repeated call ends the run after the other calls. */
  readonly endsRun: boolean
  readonly #executor: ToolExecutor
  readonly #turn: CallingTurn
  readonly #calls: readonly Judged[]
  readonly #tracked: TrackedCall[]
  readonly #events: RunEvent[] = []
  /** Calls that wait for approval. */
  readonly approvals: PendingApproval[] = []
  #wake: (() => void) | undefined = undefined
  #next = 0
  #running = 0

  constructor(executor: ToolExecutor, turn: CallingTurn, calls: readonly ToolCall[]) {
    this.#executor = executor
    this.#turn = turn
    this.#tracked = new Array(calls.length)
    let endsRun = false
    this.#calls = calls.map((call) => {
      const params = readArguments(call.function.arguments)
      const refused = turn.guard.judge(call.function.name, params, turn.iteration)
      if (refused?.ends) endsRun = true
      return { call, params, refusal: refused && new ToolExecutionError('EXECUTION_ERROR', refused.message) }
    })
    this.endsRun = endsRun
  }

  /** Complete when `next` returns no events. */
  get tracked(): readonly TrackedCall[] {
    return this.#tracked
  }

  /** Waits for the next events; none when no call runs. Runs up to `most` calls at a time; with 0, starts no more. */
  async next(most: number): Promise<readonly RunEvent[]> {
    for (;;) {
      while (this.#running < most && this.#next < this.#calls.length) this.#start(this.#next++)
      if (this.#events.length > 0 || this.#running === 0) return this.#events.splice(0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #start(index: number): void {
    const { call, params, refusal } = this.#calls[index] as Judged
    const tool = call.function.name
    const stored = this.#turn.journal?.stored.get(index)
    if (stored !== undefined && approvalOf(stored) === undefined) {
      if (refusal === undefined) this.#turn.guard.learn(tool, stored)
      this.#ended(index, stored, refusal && NOT_RUN)
      return
    }
    if (refusal !== undefined) {
      this.#ended(index, this.#executor.refuse(tool, refusal, this.#turn.context), NOT_RUN)
      return
    }
    this.#running++
    this.#executor.execute(tool, params, this.#contextOf(call, index, stored)).then((result) => {
      this.#running--
      const approval = this.#turn.journal && approvalOf(result)
      if (approval === undefined) {
        this.#turn.guard.learn(tool, result)
        this.#ended(index, result)
      } else {
        this.approvals.push({ ...approval, tool, params })
        this.#tracked[index] = { tool, params, result, iteration: this.#turn.iteration }
        this.#wake?.()
      }
    })
  }

  #ended(index: number, result: ToolResult, refused?: typeof NOT_RUN): void {
    const { call, params } = this.#calls[index] as Judged
    const recovered = call.metadata?.recovered === true ? ({ recovered: true } as const) : undefined
    const { iteration, observers } = this.#turn
    const tracked = { tool: call.function.name, params, result, iteration, ...recovered, ...refused }
    this.#tracked[index] = tracked
    for (const observer of observers) observer.callEnded?.(tracked, index)
    this.#events.push({ type: 'call-result', id: call.id, call: tracked })
    this.#wake?.()
  }

  #contextOf({ id, function: { name } }: ToolCall, index: number, stored: ToolResult | undefined): CallContext {
    const report = (progress: unknown): void => {
      this.#events.push({ type: 'call-progress', id, tool: name, progress })
      this.#wake?.()
    }
    const { context, journal, iteration } = this.#turn
    if (journal === undefined) return { ...context, report }
    const callId = `${iteration}.${index}`
    // A tool that calls others continues with the same key if one of its calls waits.
    const isKeyed = journal.keyed || this.#executor.callsOthers(name, context)
    const mayWrite = isKeyed && this.#executor.effectOf(name, context) !== 'read'
    return {
      ...context,
      report,
      callId,
      ...(mayWrite && { idempotencyKey: `run ${context.runId} call ${callId}` }),
      ...(journal.replayed && { continued: true }),
      ...(stored && { approvalId: approvalOf(stored)?.id }),
    }
  }
}

/** The approval that a call waits for. */
const approvalOf = (result: ToolResult): RequestedApproval | undefined =>
  !result.success && result.error_code === 'APPROVAL_REQUIRED' ? result.details?.approval : undefined

/** Returns text that isn't JSON unchanged: the executor refuses it. */
export function readArguments(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return parseJson(text, LIMITS.bodyDepth)
  } catch {
    return text
  }
}
