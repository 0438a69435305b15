import { randomUUID } from 'node:crypto'
import type { CallContext } from '../core/call-context.ts'
import type { ToolExecutor } from '../core/tool-executor.ts'
import type { ToolRegistry } from '../core/tool-registry.ts'
import type { ModelCatalogue } from '../models/catalogue/model-catalogue.ts'
import type { Message } from '../models/model.ts'
import { findContext } from './find-context.ts'
import { type FirstCall, firstCall } from './first-call.ts'
import { buildMessages } from './rules/build-messages.ts'
import type { Profile } from './rules/response-rule.ts'
import type { ResponseRules } from './rules/response-rules.ts'
import { type RuleRun, ruleRun } from './rules/rule-run.ts'
import type { RunAnswer, RunEvent, RunRequest } from './run.ts'
import type { ToolLoop } from './tool-loop.ts'

/** One question to be answered. */
export interface ChatRequest {
  readonly message: string
  readonly previous_messages?: readonly Message[]
  readonly profile?: Profile
  /** `provider:model`: this model answers, with every tool, whatever the response rules say. */
  readonly model?: string
  /** This tool runs first, and the answer is given with its result in mind. */
  readonly tool_name?: string
  readonly tool_params?: unknown
  /** Who asks, with what rights; its signal cancels the answer. */
  readonly context?: CallContext
}

/** How a model is asked where no response rule is. */
const TRIAL: Partial<RuleRun> = { max_tokens: 500 }
/** What a model is told where nobody configured a prompt. */
export const TRIAL_PROMPT = 'You are a helpful assistant with access to tools. Use them when appropriate.'

export interface ChatParts {
  readonly rules: ResponseRules
  readonly models: ModelCatalogue
  readonly loop: ToolLoop
  readonly registry: ToolRegistry
  readonly executor: ToolExecutor
}

/** Who answers a question, and how. */
interface Chosen {
  readonly prompt: string
  readonly context: CallContext
  readonly run: Omit<RunRequest, 'messages' | 'context' | 'prior_calls'>
}

/** Answers questions: by the response rules, or by one model. */
export class Chat {
  readonly #parts: ChatParts

  constructor(parts: ChatParts) {
    this.#parts = parts
  }

  /**
   * Carries a question to its answer. Rejects where no rule matches, the model is unknown, or `tool_name` is refused
   * (`ToolRefusedError`): no model is asked then.
   */
  async answer(request: ChatRequest): Promise<RunAnswer> {
    const chosen = this.#choose(request)
    const first = this.#first(request, chosen, false)
    // It has nothing to tell on its way.
    const { value } = (await first?.next()) ?? {}
    return this.#parts.loop.answer(await this.#prepare(request, chosen, value as FirstCall | undefined))
  }

  /** The same, told as it happens. */
  async *run(request: ChatRequest): AsyncGenerator<RunEvent, void, undefined> {
    const chosen = this.#choose(request)
    const first = this.#first(request, chosen, true)
    const called = first && (yield* first)
    yield* this.#parts.loop.run(await this.#prepare(request, chosen, called))
  }

  /** Who answers, and how: settled before anything happens. */
  #choose({ message, profile = {}, model: asked, context = {} }: ChatRequest): Chosen {
    const { models, rules } = this.#parts
    const rule = asked === undefined ? rules.match(profile, message) : undefined
    const { model_id = asked ?? '', ...run } = rule ? ruleRun(rule) : TRIAL
    const { prices } = models.info(model_id)
    return {
      prompt: rule?.prompt ?? TRIAL_PROMPT,
      context: { ...context, runId: context.runId ?? randomUUID() },
      run: { ...run, model: models.get(model_id), ...(prices !== undefined && { prices }) },
    }
  }

  #first({ tool_name, tool_params }: ChatRequest, { context }: Chosen, tell: boolean) {
    if (tool_name === undefined) return undefined
    return firstCall(this.#parts.executor, { name: tool_name, params: tool_params }, context, tell)
  }

  async #prepare(request: ChatRequest, { prompt, context, run }: Chosen, first?: FirstCall): Promise<RunRequest> {
    const { message, previous_messages = [], profile = {} } = request
    const { registry, executor } = this.#parts
    const lookup = (about: string) => findContext(about, registry, executor, context)
    const messages = await buildMessages({ prompt }, { message, previousMessages: previous_messages, profile, lookup })
    if (first === undefined) return { ...run, messages, context }
    return { ...run, messages: [...messages, ...first.messages], context, prior_calls: [first.tracked] }
  }
}
