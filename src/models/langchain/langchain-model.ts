import { systemClock } from '../../core/clock.ts'
import { refusalError, type Telling, toModelError } from '../ai-sdk/to-model-error.ts'
import type { Model, ModelEvent, ModelRequest } from '../model.ts'
import { ModelError } from '../model-error.ts'
import { langchainMessages } from './langchain-messages.ts'
import { LangchainReader, type MessagePart } from './langchain-reader.ts'

/** What is used of a chat model of LangChain. It names none of LangChain's types, so that any version of it fits. */
export interface LangchainChatModel extends Streaming {
  bindTools?(tools: never): Streaming
  getName?(): string
}

interface Streaming {
  stream(messages: never, options?: never): Promise<AsyncIterable<unknown>>
}

/** Any chat model of LangChain as a model of ours; `id` is `langchain:<class or model>` by default. */
export function langchainModel(chatModel: LangchainChatModel, id = `langchain:${nameOf(chatModel)}`): Model {
  return { id, stream: (request) => streamOf(chatModel, id, request) }
}

async function* streamOf(chatModel: LangchainChatModel, id: string, request: ModelRequest): AsyncGenerator<ModelEvent> {
  const { messages, signal, max_tokens, temperature } = request
  signal?.throwIfAborted()
  const reader = new LangchainReader()
  try {
    const options = {
      ...(signal !== undefined && { signal }),
      ...(max_tokens !== undefined && { max_tokens }),
      ...(temperature !== undefined && { temperature }),
    }
    const asked = langchainMessages(messages)
    const parts = await withTools(chatModel, request).stream(asked as never, options as never)
    for await (const part of parts) yield* reader.read(part as MessagePart)
    signal?.throwIfAborted()
    yield* reader.end()
  } catch (error) {
    signal?.throwIfAborted()
    throw modelError(id, error)
  }
}

function withTools(chatModel: LangchainChatModel, { tools }: ModelRequest): Streaming {
  if (tools.length === 0) return chatModel
  if (chatModel.bindTools === undefined) {
    throw new ModelError('This chat model takes no tools (it has no bindTools). Offer it none, or take another.')
  }
  // LangChain's own format, for which JSON Schema will do.
  const bound = tools.map(({ name, description, parameters }) => ({ name, description, schema: parameters }))
  return chatModel.bindTools(bound as never)
}

function nameOf(chatModel: LangchainChatModel): string {
  const named: unknown = Reflect.get(chatModel, 'model') ?? Reflect.get(chatModel, 'modelName')
  return typeof named === 'string' ? named : (chatModel.getName?.() ?? chatModel.constructor.name)
}

/** The clients under LangChain's chat models throw errors with a `status`, or with a `response` that has it. */
function modelError(id: string, error: unknown): ModelError {
  const telling: Telling = { clock: systemClock, secrets: [] }
  const { status, headers, message = '' } = refusalIn(error)
  const told =
    status !== undefined && status >= 400
      ? refusalError({ status, headers: { ...headers }, said: message, body: undefined }, telling)
      : toModelError(error, telling)
  const { retryable, retryAfterMs } = told
  return new ModelError(`${id}: ${told.message}`, {
    cause: error,
    retryable,
    ...(told.status !== undefined && { status: told.status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}

function refusalIn(error: unknown): { status?: number; headers?: Record<string, string>; message?: string } {
  if (!(error instanceof Error) || error instanceof ModelError) return {}
  const response: unknown = Reflect.get(error, 'response')
  for (const one of [error, response]) {
    if (typeof one !== 'object' || one === null) continue
    const status: unknown = Reflect.get(one, 'status')
    const headers: unknown = Reflect.get(one, 'headers')
    if (typeof status !== 'number') continue
    const plain =
      headers instanceof Headers ? Object.fromEntries(headers) : (headers as Record<string, string> | undefined)
    return { status, message: error.message, ...(plain && { headers: plain }) }
  }
  return {}
}
