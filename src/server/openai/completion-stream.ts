import type { RunAnswer, RunEvent, StopReason, TrackedCall } from '../../chat/run.ts'
import type { ToolCall, Usage } from '../../models/model.ts'
import type { EventStream } from '../http/event-stream.ts'
import { waitSeconds } from '../http/problem.ts'
import type { AskedCompletion } from './completion-request.ts'
import { newCallId } from './handed-back.ts'
import { OpenAiError } from './openai-error.ts'

interface HandedCall {
  readonly index: number
  readonly id: string
  /** How much of the arguments has been sent. */
  sent: number
}

/** Streams a run as OpenAI chunks. */
export class CompletionStream {
  readonly #stream: EventStream
  readonly #head: CompletionHead
  readonly #includeUsage: boolean
  readonly #clientTools: ReadonlySet<string>
  readonly #warnings: readonly string[]
  /** The client's calls, by the ids of the model. */
  readonly #calls = new Map<string, HandedCall>()
  #begun = false
  /** The text of this turn. */
  #said = ''
  /** Whether an earlier turn had text. */
  #spoke = false

  constructor(stream: EventStream, head: CompletionHead, { includeUsage, run, warnings }: AskedCompletion) {
    this.#stream = stream
    this.#head = head
    this.#includeUsage = includeUsage
    this.#warnings = warnings
    this.#clientTools = new Set(run.client_tools?.map(({ name }) => name))
  }

  /** The ids that the client got for its calls, and those of the model. */
  get ids(): Map<string, string> {
    return new Map(Array.from(this.#calls, ([modelId, { id }]) => [id, modelId]))
  }

  async write(event: RunEvent): Promise<void> {
    if (!this.#begun) {
      this.#begun = true
      await this.#send({ role: 'assistant', content: '' })
    }
    switch (event.type) {
      case 'gate':
        return this.#tell({ type: 'gate', decisions: event.decisions })
      case 'text-delta':
        return this.#say(event.text)
      case 'tool-call-start':
        return this.#startCall(event.id, event.name)
      case 'tool-call-delta':
        return this.#goOn(event.id, event.text)
      case 'tool-call-end':
        return this.#endCall(event.call)
      case 'call-progress':
        return this.#tell({ type: 'call-progress', id: event.id, tool: event.tool, progress: event.progress })
      case 'call-result':
        this.#spoke ||= this.#said !== ''
        this.#said = ''
        return this.#tell({ type: 'call-result', id: event.id, ...aboutCall(event.call) })
      case 'answer':
        return this.#finish(event.answer)
    }
  }

  async #say(text: string): Promise<void> {
    if (text === '') return
    // Separates the texts of two turns.
    const apart = this.#said === '' && this.#spoke ? '\n\n' : ''
    this.#said += text
    await this.#send({ content: `${apart}${text}` })
  }

  async #startCall(modelId: string, name: string): Promise<void> {
    if (!this.#clientTools.has(name) || this.#calls.has(modelId)) return
    const call = { index: this.#calls.size, id: newCallId(), sent: 0 }
    this.#calls.set(modelId, call)
    const { index, id } = call
    await this.#send({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] })
  }

  async #goOn(modelId: string, text: string): Promise<void> {
    const call = this.#calls.get(modelId)
    if (call === undefined || text === '') return
    call.sent += text.length
    await this.#send({ tool_calls: [{ index: call.index, function: { arguments: text } }] })
  }

  /** Sends the rest of a call. Some models send calls only as a whole. */
  async #endCall({ id, function: { name, arguments: text } }: ToolCall): Promise<void> {
    await this.#startCall(id, name)
    await this.#goOn(id, text.slice(this.#calls.get(id)?.sent))
  }

  async #finish(answer: RunAnswer): Promise<void> {
    const finish_reason = finishReason(answer)
    const content = contentOf(answer)
    if (content.startsWith(this.#said)) await this.#say(content.slice(this.#said.length))
    else {
      this.#spoke = true
      this.#said = ''
      await this.#say(content)
    }
    const choice = { index: 0, delta: {}, logprobs: null, finish_reason }
    await this.#chunk({ choices: [choice], toolyard: aboutRun(answer, this.#warnings) })
    if (this.#includeUsage && answer.usage !== undefined) {
      await this.#chunk({ choices: [], usage: usageOf(answer.usage) })
    }
    await this.#stream.sendText('[DONE]')
  }

  /** Sends an event of the server next to an empty choice, which other clients ignore. */
  #tell(toolyard: object): Promise<void> {
    return this.#chunk({ choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: null }], toolyard })
  }

  #send(delta: object): Promise<void> {
    return this.#chunk({ choices: [{ index: 0, delta, logprobs: null, finish_reason: null }] })
  }

  #chunk(rest: object): Promise<void> {
    const usage = this.#includeUsage ? { usage: null } : {}
    return this.#stream.sendText(JSON.stringify({ object: 'chat.completion.chunk', ...this.#head, ...usage, ...rest }))
  }
}

/** The fields that all chunks share. */
export interface CompletionHead {
  readonly id: string
  readonly created: number
  readonly model: string
}

type FinishReason = 'stop' | 'length' | 'content_filter' | 'tool_calls'

/** OpenAI has one finish reason for all limits. */
const FINISH: Readonly<Record<Exclude<StopReason, 'error' | 'cancelled'>, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content_filter',
  max_iterations: 'length',
  repeated_calls: 'length',
  timeout: 'length',
  budget: 'length',
  approval_required: 'stop',
}

/** A complete answer in OpenAI's format, with the calls of client tools. */
export function completion(
  head: CompletionHead,
  answer: RunAnswer,
  calls: readonly ToolCall[],
  warnings: readonly string[],
): object {
  const content = contentOf(answer)
  return {
    object: 'chat.completion',
    ...head,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: content === '' && calls.length > 0 ? null : content,
          refusal: null,
          ...(calls.length > 0 && { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: finishReason(answer),
      },
    ],
    ...(answer.usage !== undefined && { usage: usageOf(answer.usage) }),
    toolyard: aboutRun(answer, warnings),
  }
}

/** The last text of the model, including the extra turn after a limit. */
export const contentOf = ({ content, final_answer }: RunAnswer): string => final_answer ?? content

const usageOf = ({ cached_tokens: cached, ...usage }: Usage): object => ({
  ...usage,
  ...(cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } }),
})

/** Throws an `OpenAiError` if the run failed. */
export function finishReason(answer: RunAnswer): FinishReason {
  const { stop_reason, client_calls } = answer
  if (client_calls !== undefined) return 'tool_calls'
  if (stop_reason !== 'error' && stop_reason !== 'cancelled') return FINISH[stop_reason]
  throw failed(stop_reason, answer)
}

/** Data that OpenAI's format lacks: the stop reason, the tools that ran on the server, and warnings. */
export function aboutRun(answer: RunAnswer, asked: readonly string[]): object {
  const { stop_reason, tool_calls, status, run_id, approvals } = answer
  const warnings = [...asked, ...(answer.warnings ?? [])]
  return {
    ...(status !== undefined && { status, run_id, approvals }),
    stop_reason,
    tool_calls: tool_calls.map(aboutCall),
    ...(warnings.length > 0 && { warnings }),
  }
}

const aboutCall = ({ tool, iteration, result }: TrackedCall): object => ({
  tool,
  iteration,
  success: result.success,
  ...(!result.success && { error_code: result.error_code }),
  execution_time_ms: result.execution_time_ms,
})

/** Clients retry after a 5xx status, so a run that has called tools fails with 422 instead. */
function failed(
  reason: 'error' | 'cancelled',
  { error, error_status = 502, retry_after_ms, tool_calls: calls }: RunAnswer,
): OpenAiError {
  const problem = error ?? 'The run was cancelled before it could finish'
  const code = reason === 'cancelled' ? 'cancelled' : 'model_failed'
  if (calls.length === 0) {
    const wait = retry_after_ms === undefined ? {} : { 'retry-after': waitSeconds(retry_after_ms) }
    return new OpenAiError(reason === 'cancelled' ? 503 : error_status, problem, { code, headers: wait })
  }
  const names = [...new Set(calls.map(({ tool }) => tool))].slice(0, 10).join(', ')
  const message = `${problem}. Tools were already called (${names}): a retry may call them again`
  return new OpenAiError(422, message, { type: 'server_error', code, headers: { 'x-should-retry': 'false' } })
}
