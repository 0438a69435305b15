import type { CallContext } from '../core/call-context.ts'
import { ToolExecutionError } from '../core/tool-execution-error.ts'
import type { ToolExecutor } from '../core/tool-executor.ts'
import type { ToolResult } from '../core/tool-result.ts'
import type { ToolCall } from '../models/model.ts'
import type { CallGuard } from './call-guard.ts'
import type { RunEvent, TrackedCall } from './run.ts'

interface Judged {
  readonly call: ToolCall
  readonly params: unknown
  readonly refusal: ToolExecutionError | undefined
}

/** The calls of one turn: run beside each other, so many at a time, told of as they end, kept in order. */
export class CallBatch {
  /** Some call was one too many: the run is over when the others have ended. */
  readonly endsRun: boolean
  readonly #executor: ToolExecutor
  readonly #context: CallContext
  readonly #guard: CallGuard
  readonly #iteration: number
  readonly #tell: boolean
  readonly #calls: readonly Judged[]
  readonly #tracked: TrackedCall[]
  readonly #events: RunEvent[] = []
  #wake: (() => void) | undefined = undefined
  #next = 0
  #running = 0

  constructor(
    executor: ToolExecutor,
    context: CallContext,
    guard: CallGuard,
    calls: readonly ToolCall[],
    iteration: number,
    tell: boolean,
  ) {
    this.#executor = executor
    this.#context = context
    this.#guard = guard
    this.#iteration = iteration
    this.#tell = tell
    this.#tracked = new Array(calls.length)
    let endsRun = false
    this.#calls = calls.map((call) => {
      const params = readArguments(call.function.arguments)
      const refused = guard.judge(call.function.name, params, iteration)
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

  #start(index: number): void {
    const { call, params, refusal } = this.#calls[index] as Judged
    const tool = call.function.name
    if (refusal !== undefined) {
      this.#ended(index, this.#executor.refuse(tool, refusal, this.#context))
      return
    }
    this.#running++
    this.#executor.execute(tool, params, this.#contextOf(call)).then((result) => {
      this.#running--
      this.#guard.learn(tool, result)
      this.#ended(index, result)
    })
  }

  #ended(index: number, result: ToolResult): void {
    const { call, params } = this.#calls[index] as Judged
    const recovered = call.metadata?.recovered === true ? ({ recovered: true } as const) : undefined
    const tracked = { tool: call.function.name, params, result, iteration: this.#iteration, ...recovered }
    this.#tracked[index] = tracked
    if (this.#tell) this.#events.push({ type: 'call-result', id: call.id, call: tracked })
    if (this.#tell || this.#running === 0 || this.#next < this.#calls.length) this.#wake?.()
  }

  /** With an ear for progress, where anybody is told of it. */
  #contextOf({ id, function: { name } }: ToolCall): CallContext {
    if (!this.#tell) return this.#context
    const report = (progress: unknown): void => {
      this.#events.push({ type: 'call-progress', id, tool: name, progress })
      this.#wake?.()
    }
    return { ...this.#context, report }
  }
}

/** What the model sent: the value where it is JSON, else the text, which the executor then refuses. */
function readArguments(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
