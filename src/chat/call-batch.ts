import type { CallContext } from '../core/call-context.ts'
import { parseJson } from '../core/json-depth.ts'
import { LIMITS } from '../core/snapshot.ts'
import { ToolExecutionError } from '../core/tool-execution-error.ts'
import type { ToolExecutor } from '../core/tool-executor.ts'
import type { ToolResult } from '../core/tool-result.ts'
import type { ToolCall } from '../models/model.ts'
import type { CallGuard } from './call-guard.ts'
import type { RunEvent, TrackedCall } from './run.ts'
import type { RunObserver } from './run-observer.ts'

/** The turn that asks for calls. */
export interface CallingTurn {
  readonly context: CallContext
  readonly guard: CallGuard
  readonly iteration: number
  /** Whether anybody wants to hear of results and progress as they come. */
  readonly tell: boolean
  readonly observers: readonly RunObserver[]
}

interface Judged {
  readonly call: ToolCall
  readonly params: unknown
  readonly refusal: ToolExecutionError | undefined
}

const NOT_RUN = { not_run: true } as const

/** The calls of one turn: run beside each other, so many at a time, told of as they end, kept in order. */
export class CallBatch {
  /** Some call was one too many: the run is over when the others have ended. */
  readonly endsRun: boolean
  readonly #executor: ToolExecutor
  readonly #turn: CallingTurn
  readonly #calls: readonly Judged[]
  readonly #tracked: TrackedCall[]
  readonly #events: RunEvent[] = []
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

  /** The calls with their results, in the model's order; whole when `next` has nothing more to tell. */
  get tracked(): readonly TrackedCall[] {
    return this.#tracked
  }

  /** The next thing that happened; undefined when all calls have ended. */
  async next(most: number): Promise<RunEvent | undefined> {
    for (;;) {
      while (this.#running < most && this.#next < this.#calls.length) this.#start(this.#next++)
      const event = this.#events.shift()
      if (event !== undefined || this.#running === 0) return event
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  /** Settles when the calls that run have ended; no more are begun. */
  async ended(): Promise<void> {
    for (let event = await this.next(0); event !== undefined; event = await this.next(0)) {
      // Nobody is there to be told.
    }
  }

  #start(index: number): void {
    const { call, params, refusal } = this.#calls[index] as Judged
    const tool = call.function.name
    if (refusal !== undefined) {
      this.#ended(index, this.#executor.refuse(tool, refusal, this.#turn.context), NOT_RUN)
      return
    }
    this.#running++
    this.#executor.execute(tool, params, this.#contextOf(call)).then((result) => {
      this.#running--
      this.#turn.guard.learn(tool, result)
      this.#ended(index, result)
    })
  }

  #ended(index: number, result: ToolResult, refused?: typeof NOT_RUN): void {
    const { call, params } = this.#calls[index] as Judged
    const recovered = call.metadata?.recovered === true ? ({ recovered: true } as const) : undefined
    const { iteration, tell, observers } = this.#turn
    const tracked = { tool: call.function.name, params, result, iteration, ...recovered, ...refused }
    this.#tracked[index] = tracked
    for (const observer of observers) observer.called(tracked, index)
    if (tell) this.#events.push({ type: 'call-result', id: call.id, call: tracked })
    if (tell || this.#running === 0 || this.#next < this.#calls.length) this.#wake?.()
  }

  /** With an ear for progress, where anybody is told of it. */
  #contextOf({ id, function: { name } }: ToolCall): CallContext {
    const { context, tell } = this.#turn
    if (!tell) return context
    const report = (progress: unknown): void => {
      this.#events.push({ type: 'call-progress', id, tool: name, progress })
      this.#wake?.()
    }
    return { ...context, report }
  }
}

/** The model's arguments, or the text itself if it isn't JSON: the executor refuses that. */
function readArguments(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return parseJson(text, LIMITS.bodyDepth)
  } catch {
    return text
  }
}
