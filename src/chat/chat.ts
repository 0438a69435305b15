import type { CallContext } from '../core/call-context.ts'
import type { ToolExecutor } from '../core/tool-executor.ts'
import type { ToolRegistry } from '../core/tool-registry.ts'
import type { ModelCatalogue } from '../models/catalogue/model-catalogue.ts'
import type { Message } from '../models/model.ts'
import { findContext } from './find-context.ts'
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
  /** Who asks, with what rights; its signal cancels the answer. */
  readonly context?: CallContext
}

/** How a model is asked where no response rule is. */
const TRIAL: Partial<RuleRun> = { max_tokens: 500 }
const TRIAL_PROMPT = 'You are a helpful assistant with access to tools. Use them when appropriate.'

export interface ChatParts {
  readonly rules: ResponseRules
  readonly models: ModelCatalogue
  readonly loop: ToolLoop
  readonly registry: ToolRegistry
  readonly executor: ToolExecutor
}

/** Answers questions: by the response rules, or by one model. */
export class Chat {
  readonly #parts: ChatParts

  constructor(parts: ChatParts) {
    this.#parts = parts
  }

  /** Carries a question to its answer. Rejects where no rule matches or the model is unknown. */
  async answer(request: ChatRequest): Promise<RunAnswer> {
    return this.#parts.loop.answer(await this.#prepare(request))
  }

  /** The same, told as it happens. */
  async *run(request: ChatRequest): AsyncGenerator<RunEvent, void, undefined> {
    yield* this.#parts.loop.run(await this.#prepare(request))
  }

  async #prepare(request: ChatRequest): Promise<RunRequest> {
    const { message, previous_messages = [], profile = {}, context = {} } = request
    const { models, rules, registry, executor } = this.#parts
    const rule = request.model === undefined ? rules.match(profile, message) : undefined
    const { model_id = request.model ?? '', ...run } = rule ? ruleRun(rule) : TRIAL
    const model = models.get(model_id)
    const { prices } = models.info(model_id)
    const lookup = (about: string) => findContext(about, registry, executor, context)
    const messages = await buildMessages(rule ?? { prompt: TRIAL_PROMPT }, {
      message,
      previousMessages: previous_messages,
      profile,
      lookup,
    })
    return { ...run, model, messages, context, ...(prices !== undefined && { prices }) }
  }
}
