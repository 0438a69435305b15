import type { Message, OfferedTool } from '../../models/model.ts'
import { invalid } from './openai-error.ts'
import { readMessages } from './read-messages.ts'
import { readToolChoice, readTools } from './read-tools.ts'

type Optional<Value> = Value | null | undefined

/** The body of a request, of which `COMPLETION_SCHEMA` has been checked. */
export interface CompletionBody {
  readonly model: string
  readonly messages: readonly unknown[]
  readonly stream?: Optional<boolean>
  readonly stream_options?: Optional<{ readonly include_usage?: Optional<boolean> }>
  readonly max_tokens?: Optional<number>
  readonly max_completion_tokens?: Optional<number>
  readonly temperature?: Optional<number>
  readonly tools?: Optional<readonly unknown[]>
  readonly tool_choice?: unknown
  readonly n?: Optional<number>
  readonly response_format?: Optional<{ readonly type?: unknown }>
  readonly logprobs?: Optional<boolean>
  readonly modalities?: Optional<readonly unknown[]>
  readonly functions?: unknown
  readonly function_call?: unknown
}

/** What a client asks for. */
export interface AskedCompletion {
  readonly model: string
  readonly messages: readonly Message[]
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly run: {
    readonly max_tokens?: number
    readonly temperature?: number
    readonly client_tools?: readonly OfferedTool[]
    readonly allowed_tools?: readonly string[]
  }
}

const NO_TOOLS: readonly string[] = Object.freeze([])

/** Reads a request. What would change the answer and is not there is refused; what only tunes it is passed over. */
export function readCompletion(body: CompletionBody): AskedCompletion {
  refuseUnsupported(body)
  const { model, messages, stream, stream_options, temperature } = body
  const max_tokens = body.max_completion_tokens ?? body.max_tokens ?? undefined
  const tools = readTools(body.tools ?? [])
  const offered = readToolChoice(body.tool_choice) === 'auto' ? { client_tools: tools } : { allowed_tools: NO_TOOLS }
  return {
    model,
    messages: readMessages(messages),
    stream: stream === true,
    includeUsage: stream_options?.include_usage === true,
    run: {
      ...offered,
      ...(max_tokens !== undefined && { max_tokens }),
      ...(typeof temperature === 'number' && { temperature }),
    },
  }
}

function refuseUnsupported(body: CompletionBody): void {
  const { n, response_format, logprobs, modalities, functions, function_call } = body
  const format = response_format?.type ?? 'text'
  if ((n ?? 1) !== 1) refuse('n', 'n must be 1: there is one answer to a request')
  if (format !== 'text') refuse('response_format', 'response_format must be of type "text"')
  if (logprobs === true) refuse('logprobs', 'logprobs are not supported')
  if (modalities?.some((modality) => modality !== 'text')) refuse('modalities', 'modalities must be ["text"]')
  if (functions != null) refuse('functions', 'functions are not supported: use tools')
  if (function_call != null) refuse('function_call', 'function_call is not supported: use tool_choice')
}

function refuse(param: string, message: string): never {
  throw invalid(param, message, 'unsupported_value')
}
