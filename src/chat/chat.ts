import { randomUUID } from 'node:crypto'
import type { CallContext } from '../core/call-context.ts'
import type { ToolExecutor } from '../core/tool-executor.ts'
import type { ToolRegistry } from '../core/tool-registry.ts'
import type { ModelCatalogue } from '../models/catalogue/model-catalogue.ts'
import type { Message, ToolCall } from '../models/model.ts'
import { CallBatch } from './call-batch.ts'
import { CallGuard } from './call-guard.ts'
import { buildMessages } from './rules/build-messages.ts'
import type { Profile } from './rules/response-rule.ts'
import type { ResponseRules } from './rules/response-rules.ts'
import { type RuleRun, ruleRun } from './rules/rule-run.ts'
import type { RunAnswer, RunEvent, RunRequest, TrackedCall } from './run.ts'
import { NOBODY } from './run-observer.ts'
import type { ToolLoop } from './tool-loop.ts'
import { isRefusal, ToolRefusedError } from './tool-refused-error.ts'

const UNREADABLE = '…'

/** A call that the caller asked for, and what the model reads of it: as if it had made the call itself. */
interface FirstCall {
  readonly tracked: TrackedCall
  readonly messages: readonly Message[]
}

/** Runs a tool before any model is asked. Throws a `ToolRefusedError`; a tool that failed while it ran is an answer. */
async function* firstCall(
  executor: ToolExecutor,
  tool: { readonly name: string; readonly params: unknown },
  context: CallContext,
  tell: boolean,
): AsyncGenerator<RunEvent, FirstCall, undefined> {
  const call: ToolCall = {
    id: `call_${randomUUID()}`,
    type: 'function',
    function: { name: tool.name, arguments: textOf(tool.params) },
  }
  const turn = { context, guard: new CallGuard(), iteration: 0, tell, observers: NOBODY }
  const batch = new CallBatch(executor, turn, [call])
  for (let event = await batch.next(1); event !== undefined; event = await batch.next(1)) {
    if (event.type === 'call-result') refuse(event.call)
    yield event
  }
  const [tracked] = batch.tracked as [TrackedCall]
  refuse(tracked)
  const content = JSON.stringify(tracked.result)
  return {
    tracked,
    messages: [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, name: tool.name, content },
    ],
  }
}

function refuse({ result }: TrackedCall): void {
  if (isRefusal(result)) throw new ToolRefusedError(result)
}

function textOf(params: unknown): string {
  try {
    return JSON.stringify(params === undefined ? {} : params) ?? UNREADABLE
  } catch {
    // Nested too deeply, or no JSON at all: the executor refuses this text with a sentence.
    return UNREADABLE
  }
}

/** The handler behind tools that search documents. */
const SEARCH_HANDLER = 'rag_query'

interface Found {
  readonly results?: readonly { readonly text?: unknown; readonly source?: unknown }[]
}

/** What the documents say about a message, as text; empty where nothing is found or nothing can be searched. */
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
