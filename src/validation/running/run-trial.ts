import { promptBound, textBound } from '../../chat/prompt-bound.ts'
import type { RunAnswer, RunEvent, TrackedCall } from '../../chat/run.ts'
import { ToolLoop } from '../../chat/tool-loop.ts'
import type { CancelSignal } from '../../core/cancellation.ts'
import type { Clock } from '../../core/clock.ts'
import { canonicalText } from '../../core/schema/canonical-text.ts'
import type { Params, ToolDefinition } from '../../core/tool.ts'
import type { ToolErrorCode } from '../../core/tool-error-code.ts'
import { ToolExecutor } from '../../core/tool-executor.ts'
import { ToolRegistry } from '../../core/tool-registry.ts'
import { mock } from '../../kinds/mock.ts'
import { costOf } from '../../models/catalogue/cost-of.ts'
import type { Message, Model, ModelEvent, ModelRequest, Usage } from '../../models/model.ts'
import type { ObservedCall, ObservedTurn, SuiteCase, Verdict } from '../suites/suite.ts'
import type { SuiteBudget } from './suite-budget.ts'
import type { PlannedTrial, TrialResult, TriedModel } from './trial.ts'

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

/**
 * A model as one trial sees it: what it uses up is held back before it is asked, and counted. A last question without
 * tools, which the loop puts when a limit was reached, tells nothing about the case, so it is not asked.
 */
class TrialModel implements Model {
  readonly id: string
  readonly #tried: TriedModel
  readonly #budget: SuiteBudget
  /** Whether the case has tools. */
  readonly #offers: boolean
  tokens = 0
  cost: number | undefined
  usage: Usage | undefined
  /** What stopped it, where that was not the model. */
  refused: Error | undefined

  constructor(tried: TriedModel, budget: SuiteBudget, offers: boolean) {
    this.id = tried.model.id
    this.#tried = tried
    this.#budget = budget
    this.#offers = offers
    this.cost = tried.prices && 0
  }

  async *stream(request: ModelRequest): AsyncIterable<ModelEvent> {
    if (this.#offers && request.tools.length === 0) {
      yield { type: 'finish', reason: 'stop' }
      return
    }
    const { prices, model } = this.#tried
    const prompt = promptBound(request.messages, request.tools)
    const settle = await this.#budget.hold(prices, prompt, request.max_tokens ?? 0).catch((error: Error) => {
      this.refused = error
      throw error
    })
    let said = 0
    let heard = false
    let settled = false
    // A provider that does not say what it used is taken to have used all that it can have; one that never began to
    // answer, nothing.
    const done = (usage: Usage | undefined): void => {
      if (settled) return
      settled = true
      settle(this.#add(usage?.prompt_tokens ?? (heard ? prompt : 0), usage?.completion_tokens ?? said, usage))
    }
    try {
      request.signal?.throwIfAborted()
      for await (const event of model.stream(request)) {
        heard = true
        if (event.type === 'text-delta') said += textBound(event.text)
        if (event.type === 'tool-call-end') said += textBound(event.call.function.name + event.call.function.arguments)
        // Whoever reads a stream stops at its finish, and what comes after that is too late for the trial.
        if (event.type === 'finish') done(event.usage)
        yield event
      }
    } finally {
      done(undefined)
    }
  }

  #add(prompt: number, completion: number, usage: Usage | undefined) {
    const cost = costOf(this.#tried.prices, prompt, completion)
    const tokens = Math.max(usage?.total_tokens ?? 0, prompt + completion)
    this.tokens += tokens
    if (cost !== undefined) this.cost = (this.cost ?? 0) + cost
    const before = this.usage
    this.usage = {
      prompt_tokens: (before?.prompt_tokens ?? 0) + prompt,
      completion_tokens: (before?.completion_tokens ?? 0) + completion,
      total_tokens: (before?.total_tokens ?? 0) + tokens,
    }
    return { tokens, ...(cost !== undefined && { cost }) }
  }
}

/** The loop over the tools of a case, and what of them cannot be offered. */
interface MockYard {
  readonly loop: ToolLoop
  /** Why a tool of the case cannot be offered, in a sentence. */
  readonly problem?: string
}

const DEFAULT_ANSWER = { ok: true }
/** Cases that follow each other mostly share their tools; more than this are made anew. */
const MOST_YARDS = 256

/** Makes the tools of cases, every one of them a mock: there is no kind that could do anything real. */
export class MockYards {
  readonly #clock: Clock
  readonly #yards = new Map<string, MockYard>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The same one for all cases with the same tools. */
  of({ tools, mocks }: SuiteCase): MockYard {
    const key = canonicalText([
      tools.map(({ name, description, parameters }) => [name, description, parameters]),
      mocks,
    ])
    const known = this.#yards.get(key)
    if (known !== undefined) return known
    const [oldest] = this.#yards.keys()
    if (oldest !== undefined && this.#yards.size >= MOST_YARDS) this.#yards.delete(oldest)
    const made = this.#make(tools, mocks)
    this.#yards.set(key, made)
    return made
  }

  #make(tools: readonly ToolDefinition[], mocks: SuiteCase['mocks']): MockYard {
    const clock = this.#clock
    const registry = new ToolRegistry()
    // Limits, permissions and caches of the real tool say nothing about the model.
    for (const { name, description, parameters } of tools) {
      const mock_response = Object.hasOwn(mocks, name) ? mocks[name] : DEFAULT_ANSWER
      registry.register({ name, description, parameters, implementation: { type: 'mock', mock_response } })
    }
    const loop = new ToolLoop(registry, new ToolExecutor(registry, { kinds: { mock }, clock }), { clock })
    const broken = tools.find(({ name }) => registry.brokenReason(name) !== undefined)
    if (broken === undefined) return { loop }
    return { loop, problem: `Tool '${broken.name}' has an invalid schema: ${registry.brokenReason(broken.name)}` }
  }
}
