import type { RunAnswer, StopReason, TrackedCall } from '../../chat/run.ts'
import type { ToolCall, Usage } from '../../models/model.ts'
import { OpenAiError } from './openai-error.ts'

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
