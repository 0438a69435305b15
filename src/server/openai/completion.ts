import type { RunAnswer, RunEvent, StopReason, TrackedCall } from '../../chat/run.ts'
import type { ToolCall, Usage } from '../../models/model.ts'
import type { EventStream } from '../http/event-stream.ts'
import type { AskedCompletion } from './completion-request.ts'
import { newCallId } from './handed-back.ts'
import { OpenAiError } from './openai-error.ts'

interface HandedCall {
  readonly index: number
  readonly id: string
  /** How much of the arguments has been sent. */
  sent: number
}

/** Writes a run as chunks of OpenAI's, as it happens. */
export class CompletionStream {
  readonly #stream: EventStream
  readonly #head: CompletionHead
  readonly #includeUsage: boolean
  readonly #clientTools: ReadonlySet<string>
  /** The client's calls, by the ids of the model. */
  readonly #calls = new Map<string, HandedCall>()
  #begun = false
  /** What was said in this turn. */
  #said = ''
  /** Something was said in a turn before. */
  #spoke = false

  constructor(stream: EventStream, head: CompletionHead, { includeUsage, run }: AskedCompletion) {
    this.#stream = stream
    this.#head = head
    this.#includeUsage = includeUsage
    this.#clientTools = new Set(run.client_tools?.map(({ name }) => name))
  }

  /** The ids that the client's calls went out under, and those of the model. */
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
    // What was said between calls and what is said now are not one sentence.
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

  /** Sends what has not been sent: a model need not have told of a call before it was whole. */
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
    await this.#chunk({ choices: [choice], toolyard: aboutRun(answer) })
    if (this.#includeUsage && answer.usage !== undefined) {
      await this.#chunk({ choices: [], usage: usageOf(answer.usage) })
    }
    await this.#stream.sendText('[DONE]')
  }

  /** What happens on the server, beside an empty choice: clients that do not look for it do not see it. */
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

/** What is the same in every part of an answer. */
export interface CompletionHead {
  readonly id: string
  readonly created: number
  readonly model: string
}

type FinishReason = 'stop' | 'length' | 'content_filter' | 'tool_calls'

/** A run that came to a limit was cut short, which OpenAI has one word for. */
const FINISH: Readonly<Record<Exclude<StopReason, 'error' | 'cancelled'>, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content_filter',
  max_iterations: 'length',
  repeated_calls: 'length',
  timeout: 'length',
  budget: 'length',
}

/** A whole answer in OpenAI's form; `calls` are those of the client. */
export function completion(head: CompletionHead, answer: RunAnswer, calls: readonly ToolCall[]): object {
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
    toolyard: aboutRun(answer),
  }
}

/** What the model said last, also where it was asked once more after a limit. */
export const contentOf = ({ content, final_answer }: RunAnswer): string => final_answer ?? content

export const usageOf = ({ prompt_tokens, completion_tokens, total_tokens }: Usage): Usage => ({
  prompt_tokens,
  completion_tokens,
  total_tokens,
})

/** Why an answer ended. Throws an `OpenAiError` where there is none. */
export function finishReason({ stop_reason, client_calls, error, tool_calls }: RunAnswer): FinishReason {
  if (client_calls !== undefined) return 'tool_calls'
  if (stop_reason !== 'error' && stop_reason !== 'cancelled') return FINISH[stop_reason]
  throw failed(stop_reason, error, tool_calls)
}

/** What OpenAI has no place for: how the run ended, and which tools ran on the server. */
export const aboutRun = ({ stop_reason, tool_calls }: RunAnswer): object => ({
  stop_reason,
  tool_calls: tool_calls.map(aboutCall),
})

export const aboutCall = ({ tool, iteration, result }: TrackedCall): object => ({
  tool,
  iteration,
  success: result.success,
  ...(!result.success && { error_code: result.error_code }),
  execution_time_ms: result.execution_time_ms,
})

/** Clients repeat what failed with a status of 500 and above: a run whose tools have done something must not be. */
function failed(reason: 'error' | 'cancelled', error: string | undefined, calls: readonly TrackedCall[]): OpenAiError {
  const problem = error ?? 'The run was cancelled before it could finish'
  const code = reason === 'cancelled' ? 'cancelled' : 'model_failed'
  if (calls.length === 0) return new OpenAiError(reason === 'cancelled' ? 503 : 502, problem, { code })
  const names = [...new Set(calls.map(({ tool }) => tool))].slice(0, 10).join(', ')
  const message = `${problem}. Tools have been called already (${names}): asking again may call them again`
  return new OpenAiError(422, message, { type: 'server_error', code, headers: { 'x-should-retry': 'false' } })
}
