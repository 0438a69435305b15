import type { RunAnswer, RunEvent, TrackedCall } from '../../chat/run.ts'
import type { CancelSignal } from '../../core/cancellation.ts'
import type { Clock } from '../../core/clock.ts'
import type { Params } from '../../core/tool.ts'
import type { ToolErrorCode } from '../../core/tool-error-code.ts'
import type { Message } from '../../models/model.ts'
import type { ObservedCall, ObservedTurn, Verdict } from '../suites/suite.ts'
import type { MockYard } from './mock-yards.ts'
import type { SuiteBudget } from './suite-budget.ts'
import type { PlannedTrial, TrialResult } from './trial.ts'
import { TrialModel } from './trial-model.ts'

/** Of one answer: room for a model that thinks before it calls. */
export const MAX_TOKENS = 2_048

export interface TrialSurroundings {
  readonly yard: MockYard
  readonly budget: SuiteBudget
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal: CancelSignal
}

/** With these a call was refused before it ran, and the model is to blame. */
const REFUSALS: ReadonlySet<ToolErrorCode> = new Set(['INVALID_PARAMETERS', 'TOOL_NOT_FOUND', 'PERMISSION_DENIED'])
/** A run that ended so was the model's own; with any other the model was not heard to its end. */
const JUDGED: ReadonlySet<RunAnswer['stop_reason']> = new Set(['stop', 'max_iterations', 'repeated_calls', 'length'])

interface Turn {
  readonly observed: ObservedTurn
  readonly answer: RunAnswer
  readonly messages: readonly Message[]
}

/**
 * Puts a case to a model, turn by turn, through the one loop, and has it judged. Gives nothing where it was cancelled.
 * Rejects with a `BudgetReachedError` where the next question might cost too much.
 */
export async function runTrial(planned: PlannedTrial, around: TrialSurroundings): Promise<TrialResult | undefined> {
  const { case: asked } = planned
  const { clock, yard, timeoutMs } = around
  const model = new TrialModel(planned.model, around.budget, asked.tools.length > 0)
  const startedMs = clock.now()
  const turns: ObservedTurn[] = []
  const result = (verdict: Verdict): TrialResult => ({
    verdict,
    turns,
    tokens: model.tokens,
    duration_ms: Math.round(clock.now() - startedMs),
    ...(model.cost !== undefined && { cost: model.cost }),
    ...(model.usage !== undefined && { usage: model.usage }),
  })
  if (yard.problem !== undefined) return result(notAnswered(yard.problem))
  let history: readonly Message[] = []
  for (const said of asked.turns) {
    const leftMs = startedMs + timeoutMs - clock.now()
    if (leftMs <= 0) return result(notAnswered(`The trial took longer than ${timeoutMs / 1_000} s.`))
    const run = yard.loop.run({
      model,
      messages: [...history, ...said],
      max_iterations: asked.max_iterations,
      max_tokens: MAX_TOKENS,
      budget: { wall_time_ms: leftMs },
      context: { signal: around.signal },
    })
    const { observed, answer, messages } = await follow(run)
    if (answer.stop_reason === 'cancelled') return undefined
    if (model.refused !== undefined) throw model.refused
    turns.push(observed)
    if (!JUDGED.has(answer.stop_reason)) return result(notAnswered(reasonOf(answer, timeoutMs)))
    history = messages
  }
  return result(asked.judge(turns))
}

/** Reads a run to its answer: what the model did in it, and the conversation for the next turn. */
async function follow(run: AsyncIterable<RunEvent>): Promise<Turn> {
  let said = ''
  for await (const event of run) {
    if (event.type === 'tool-call-end') said = ''
    if (event.type === 'text-delta') said += event.text
    if (event.type !== 'answer') continue
    const { answer, messages } = event
    // The sentence that stands for an answer which the model did not give is none of its own.
    const own = answer.stop_reason === 'stop' && answer.content !== ''
    const calls = answer.tool_calls.map(observedCall)
    return { observed: { calls, answer: said }, answer, messages: own ? messages : messages.slice(0, -1) }
  }
  throw new Error('The run ended without an answer')
}

function observedCall({ tool, params, result }: TrackedCall): ObservedCall {
  const refused = !result.success && REFUSALS.has(result.error_code) ? { refused: result.error_code } : undefined
  return { tool, params: isObject(params) ? params : undefined, ...refused }
}

const isObject = (value: unknown): value is Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const notAnswered = (message: string): Verdict => ({ passed: false, kind: 'not_answered', message })

function reasonOf({ stop_reason, error, model }: RunAnswer, timeoutMs: number): string {
  if (error !== undefined) return error
  if (stop_reason === 'timeout') return `Model ${model} took longer than ${timeoutMs / 1_000} s for the trial.`
  if (stop_reason === 'content_filter') return `The provider of model ${model} held its answer back.`
  return `Model ${model} ended its answer with an error.`
}
