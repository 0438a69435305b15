import { randomUUID } from 'node:crypto'
import type { CallContext } from '../core/call-context.ts'
import type { ToolExecutor } from '../core/execution/tool-executor.ts'
import type { ToolRegistry } from '../core/execution/tool-registry.ts'
import { errorTraits, type ToolFailure, type ToolResult } from '../core/tool-result.ts'
import { mediaProblem, resultContent, textIn } from '../models/content.ts'
import type { AcceptedMedia, Content, Message, ToolCall } from '../models/model.ts'
import type { ModelCatalogue } from '../models/model-catalogue.ts'
import { CallBatch } from './call-batch.ts'
import { CallGuard } from './call-guard.ts'
import { buildMessages, type Profile, type ResponseRules, type RuleRun, ruleRun } from './response-rules.ts'
import type { RunAnswer, RunEvent, RunRequest, TrackedCall } from './run.ts'
import { NO_OBSERVERS } from './run-observer.ts'
import type { ToolLoop } from './tool-loop.ts'

/** The executor refused the call requested by `tool_name`; no model was asked. */
export class ToolRefusedError extends Error {
  readonly result: ToolFailure

  constructor(result: ToolFailure) {
    super(result.error)
    this.name = 'ToolRefusedError'
    this.result = result
  }
}

/** The message has media that the model doesn't take. */
export class RefusedMediaError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'RefusedMediaError'
  }
}

const isRefusal = (result: ToolResult): result is ToolFailure =>
  !result.success && errorTraits(result.error_code).refused !== undefined

const UNREADABLE = '…'

/** A requested call, and its messages as if the model had made the call. */
interface FirstCall {
  readonly tracked: TrackedCall
  readonly messages: readonly Message[]
}

/** Runs the requested tool first. Throws a `ToolRefusedError`; a tool that fails while running is a normal result. */
async function* firstCall(
  executor: ToolExecutor,
  tool: { readonly name: string; readonly params: unknown },
  context: CallContext,
  accepted: AcceptedMedia | undefined,
): AsyncGenerator<RunEvent, FirstCall, undefined> {
  const call: ToolCall = {
    id: `call_${randomUUID()}`,
    type: 'function',
    function: { name: tool.name, arguments: textOf(tool.params) },
  }
  const turn = { context, guard: new CallGuard(), iteration: 0, observers: NO_OBSERVERS }
  const batch = new CallBatch(executor, turn, [call])
  for (let events = await batch.next(1); events.length > 0; events = await batch.next(1)) {
    for (const event of events) {
      if (event.type === 'call-result' && isRefusal(event.call.result)) throw new ToolRefusedError(event.call.result)
      yield event
    }
  }
  const [tracked] = batch.tracked as [TrackedCall]
  const content = resultContent(tracked.result, accepted)
  return {
    tracked,
    messages: [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, name: tool.name, content },
    ],
  }
}

function textOf(params: unknown): string {
  try {
    return JSON.stringify(params === undefined ? {} : params) ?? UNREADABLE
  } catch {
    // The executor refuses this text.
    return UNREADABLE
  }
}

const SEARCH_HANDLER = 'rag_query'

interface Found {
  readonly results?: readonly { readonly text?: unknown; readonly source?: unknown }[]
}

/** Searches the documents for a message; returns an empty string if there is nothing to search or nothing is found. */
async function findContext(
  message: string,
  registry: ToolRegistry,
  executor: ToolExecutor,
  context: CallContext,
): Promise<string> {
  const tool = registry.definitions().find(({ implementation }) => implementation?.handler === SEARCH_HANDLER)
  if (tool === undefined) return ''
  const found = await executor.execute(tool.name, { query: message }, context)
  if (!found.success) return ''
  const { results = [] } = Object(found.result) as Found
  return results.map(({ text, source }) => `[${source}]\n${text}`).join('\n\n')
}

export interface ChatRequest {
  readonly message: Content
  readonly previous_messages?: readonly Message[]
  readonly profile?: Profile
  /** `provider:model`: bypasses the response rules and offers every tool. */
  readonly model?: string
  /** Per turn, if `model` is given: 500 by default, null for the limit of the provider. */
  readonly max_tokens?: number | null
  /** Instead of those of the rule. */
  readonly allowed_tools?: readonly string[]
  /** Calls of `write` tools wait for approval. */
  readonly ask_writes?: boolean
  /** Runs before the model is asked, which sees the result. */
  readonly tool_name?: string
  readonly tool_params?: unknown
  /** The caller and its permissions; the signal cancels the answer. The idempotency key is that of `tool_name`. */
  readonly context?: CallContext
  /** Runs the conversation instead of the loop: the run may be durable. */
  readonly through?: (run: RunRequest) => AsyncGenerator<RunEvent, void, undefined>
}

const TRIAL_TOKENS = 500
export const TRIAL_PROMPT = 'You are a helpful assistant with access to tools. Use them when appropriate.'

interface ChatParts {
  readonly rules: ResponseRules
  readonly models: ModelCatalogue
  readonly loop: ToolLoop
  readonly registry: ToolRegistry
  readonly executor: ToolExecutor
}

interface Chosen {
  readonly prompt: string
  readonly context: CallContext
  readonly run: Omit<RunRequest, 'messages' | 'context' | 'prior_calls'>
}

/** Answers messages with the model that a response rule selects, or with a given one. */
export class Chat {
  readonly #parts: ChatParts

  constructor(parts: ChatParts) {
    this.#parts = parts
  }

  /** Rejects if no rule matches, the model is unknown or doesn't take the media, or `tool_name` is refused. */
  async answer(request: ChatRequest): Promise<RunAnswer> {
    let answer: RunAnswer | undefined
    for await (const event of this.run(request)) if (event.type === 'answer') answer = event.answer
    return answer as RunAnswer
  }

  /** Streams the same as events. */
  async *run(request: ChatRequest): AsyncGenerator<RunEvent, void, undefined> {
    const chosen = this.#choose(request)
    const { tool_name: name, tool_params: params } = request
    const { run } = chosen
    // An idempotency key is that of the requested call.
    const { idempotencyKey: _key, ...context } = chosen.context
    const first =
      name === undefined
        ? undefined
        : yield* firstCall(this.#parts.executor, { name, params }, chosen.context, run.model.accepts)
    const { through = (run: RunRequest) => this.#parts.loop.run(run) } = request
    yield* through(await this.#prepare(request, { ...chosen, context }, first))
  }

  #choose(request: ChatRequest): Chosen {
    const { message, profile = {}, model: asked, max_tokens = TRIAL_TOKENS, context = {} } = request
    const { allowed_tools, ask_writes } = request
    const { models, rules } = this.#parts
    const rule = asked === undefined ? rules.match(profile, textIn(message)) : undefined
    const given: Partial<RuleRun> = max_tokens === null ? {} : { max_tokens }
    const { model_id = asked ?? '', ...run } = rule ? ruleRun(rule) : given
    const { prices } = models.info(model_id)
    const model = models.get(model_id, context.models)
    const problem = mediaProblem(message, model, () => models.list(context.models).map(({ id }) => models.get(id)))
    if (problem !== undefined) throw new RefusedMediaError(problem)
    return {
      prompt: rule?.prompt ?? TRIAL_PROMPT,
      context: { ...context, runId: context.runId ?? randomUUID() },
      run: {
        ...run,
        model,
        ...(prices !== undefined && { prices }),
        ...(allowed_tools && { allowed_tools }),
        ...(ask_writes && { ask_writes }),
      },
    }
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
