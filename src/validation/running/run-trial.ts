import { promptBound, textBound } from '../../chat/prompt-bound.ts'
import type { RunAnswer, RunEvent, TrackedCall } from '../../chat/run.ts'
import { ToolLoop } from '../../chat/tool-loop.ts'
import type { CancelSignal } from '../../core/cancellation.ts'
import type { Clock } from '../../core/clock.ts'
import { canonicalText } from '../../core/schema/canonical-text.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import type { ToolErrorCode } from '../../core/tool-error-code.ts'
import { ToolExecutor } from '../../core/tool-executor.ts'
import { ToolRegistry } from '../../core/tool-registry.ts'
import { mock } from '../../kinds/mock.ts'
import { costOf } from '../../models/catalogue/cost-of.ts'
import type { Message, Model, ModelEvent, ModelRequest, Usage } from '../../models/model.ts'
import type { ObservedCall, ObservedTurn, SuiteCase, Verdict } from '../suites/suite.ts'
import type { SuiteBudget } from './suite-budget.ts'
import type { PlannedTrial, TrialResult, TriedModel } from './trial.ts'

/** Per response: room for a model that thinks before it calls. */
export const MAX_TOKENS = 2_048

interface TrialOptions {
  readonly tools: CaseTools
  readonly budget: SuiteBudget
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal: CancelSignal
}

/** The codes of calls that were refused before they ran because of the model. */
const REFUSALS: ReadonlySet<ToolErrorCode> = new Set(['INVALID_PARAMETERS', 'TOOL_NOT_FOUND', 'PERMISSION_DENIED'])
/** The model caused these stop reasons itself; with any other it isn't judged. */
const JUDGED: ReadonlySet<RunAnswer['stop_reason']> = new Set(['stop', 'max_iterations', 'repeated_calls', 'length'])

interface Turn {
  readonly observed: ObservedTurn
  readonly answer: RunAnswer
  readonly messages: readonly Message[]
}

/**
 * Runs a case with a model, turn by turn, and judges it. Returns undefined if the run was cancelled. Rejects with a
 * `BudgetReachedError` if the next request might exceed the budget.
 */
export async function runTrial(planned: PlannedTrial, options: TrialOptions): Promise<TrialResult | undefined> {
  const { case: asked } = planned
  const { clock, tools, timeoutMs } = options
  const model = new TrialModel(planned.model, options.budget, asked.tools.length > 0)
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
  if (tools.problem !== undefined) return result(notAnswered(tools.problem))
  let history: readonly Message[] = []
  for (const turn of asked.turns) {
    const leftMs = startedMs + timeoutMs - clock.now()
    if (leftMs <= 0) return result(notAnswered(`The trial took longer than ${timeoutMs / 1_000} s.`))
    const run = tools.loop.run({
      model,
      messages: [...history, ...turn],
      max_iterations: asked.max_iterations,
      max_tokens: MAX_TOKENS,
      budget: { wall_time_ms: leftMs },
      context: { signal: options.signal },
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

/** Reads a run to its end: what the model did, and the conversation for the next turn. */
async function follow(run: AsyncIterable<RunEvent>): Promise<Turn> {
  let text = ''
  for await (const event of run) {
    if (event.type === 'tool-call-end') text = ''
    if (event.type === 'text-delta') text += event.text
    if (event.type !== 'answer') continue
    const { answer, messages } = event
    // The loop adds a substitute answer if the model gave none; it doesn't belong in the conversation.
    const own = answer.stop_reason === 'stop' && answer.content !== ''
    const calls = answer.tool_calls.map(observedCall)
    return { observed: { calls, answer: text }, answer, messages: own ? messages : messages.slice(0, -1) }
  }
  throw new Error('The run ended without an answer')
}

function observedCall({ tool, params, result }: TrackedCall): ObservedCall {
  const refused = !result.success && REFUSALS.has(result.error_code) ? { refused: result.error_code } : undefined
  return { tool, params: isObject(params) ? params : undefined, ...refused }
}

const notAnswered = (message: string): Verdict => ({ passed: false, kind: 'not_answered', message })

function reasonOf({ stop_reason, error, model }: RunAnswer, timeoutMs: number): string {
  if (error !== undefined) return error
  if (stop_reason === 'timeout') return `Model ${model} took longer than ${timeoutMs / 1_000} s for the trial.`
  if (stop_reason === 'content_filter') return `The provider of model ${model} withheld its answer.`
  return `Model ${model} ended its answer with an error.`
}

/**
 * Wraps a model for one trial: reserves the budget before each request and counts what was used. The loop's last
 * request without tools, sent when a limit is reached, isn't sent: it says nothing about the case.
 */
class TrialModel implements Model {
  readonly id: string
  readonly #tried: TriedModel
  readonly #budget: SuiteBudget
  readonly #hasTools: boolean
  tokens = 0
  cost: number | undefined
  usage: Usage | undefined
  /** Set if the budget didn't allow the request. */
  refused: Error | undefined

  constructor(tried: TriedModel, budget: SuiteBudget, hasTools: boolean) {
    this.id = tried.model.id
    this.#tried = tried
    this.#budget = budget
    this.#hasTools = hasTools
    this.cost = tried.prices && 0
  }

  async *stream(request: ModelRequest): AsyncIterable<ModelEvent> {
    if (this.#hasTools && request.tools.length === 0) {
      yield { type: 'finish', reason: 'stop' }
      return
    }
    const { prices, model } = this.#tried
    const prompt = promptBound(request.messages, request.tools)
    const settle = await this.#budget.hold(prices, prompt, request.max_tokens ?? 0).catch((error: Error) => {
      this.refused = error
      throw error
    })
    let completion = 0
    let started = false
    let settled = false
    // Without usage from the provider, assume the upper bound; nothing if the response never started.
    const done = (usage: Usage | undefined): void => {
      if (settled) return
      settled = true
      settle(this.#add(usage?.prompt_tokens ?? (started ? prompt : 0), usage?.completion_tokens ?? completion, usage))
    }
    try {
      request.signal?.throwIfAborted()
      for await (const event of model.stream(request)) {
        started = true
        if (event.type === 'text-delta') completion += textBound(event.text)
        if (event.type === 'tool-call-end')
          completion += textBound(event.call.function.name + event.call.function.arguments)
        // Settle here: readers stop at the finish event.
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

/** The mock tools of a case, in a loop. */
interface CaseTools {
  readonly loop: ToolLoop
  /** Why a tool can't be offered, in a sentence. */
  readonly problem?: string
}

const DEFAULT_MOCK = { ok: true }
const MAX_CACHED_CASES = 256

/** Builds the tools of cases, with the mock kind only, so that no real tool can run. Caches them: most cases share tools. */
export class CaseToolsCache {
  readonly #clock: Clock
  readonly #cached = new Map<string, CaseTools>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  of({ tools, mocks }: SuiteCase): CaseTools {
    const key = canonicalText([
      tools.map(({ name, description, parameters }) => [name, description, parameters]),
      mocks,
    ])
    const known = this.#cached.get(key)
    if (known !== undefined) return known
    const [oldest] = this.#cached.keys()
    if (oldest !== undefined && this.#cached.size >= MAX_CACHED_CASES) this.#cached.delete(oldest)
    const made = this.#make(tools, mocks)
    this.#cached.set(key, made)
    return made
  }

  #make(tools: readonly ToolDefinition[], mocks: SuiteCase['mocks']): CaseTools {
    const clock = this.#clock
    const registry = new ToolRegistry()
    // Leave out the tool's limits, permissions and cache: they say nothing about the model.
    for (const { name, description, parameters } of tools) {
      const mock_response = Object.hasOwn(mocks, name) ? mocks[name] : DEFAULT_MOCK
      registry.register({ name, description, parameters, implementation: { type: 'mock', mock_response } })
    }
    const loop = new ToolLoop(registry, new ToolExecutor(registry, { kinds: { mock }, clock }), { clock })
    const broken = tools.find(({ name }) => registry.brokenReason(name) !== undefined)
    if (broken === undefined) return { loop }
    return { loop, problem: `Tool '${broken.name}' has an invalid schema: ${registry.brokenReason(broken.name)}` }
  }
}
