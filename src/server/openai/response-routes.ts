import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RunAnswer, RunEvent } from '../../chat/run.ts'
import { RESPONSE_PREFIX } from '../../core/storage/chat-store.ts'
import type { Message, ToolCall, Usage } from '../../models/model.ts'
import { ClientRun, type RunEvents, type RunWriter, streamRun } from '../chat/client-run.ts'
import { pathParameter, route } from '../http/route.ts'
import { aboutRun, contentOf, finishReason } from './completion-stream.ts'
import { type HandedBackCalls, newCallId } from './handed-back.ts'
import { openAiErrorOf } from './openai-error.ts'
import { type ClientName, requireFormat, requireMedia, type Wire } from './request-parts.ts'
import { itemId, notFound, RESPONSE_SCHEMA, type ResponseBody, readInput, readResponse } from './response-request.ts'
import { StoredResponses } from './stored-responses.ts'

type Answered = Extract<RunEvent, { type: 'answer' }>

interface OneResponse {
  Params: { id: string }
}

/** OpenAI's responses: runs the tools of the server, and hands calls of the client's functions back. */
export function responseRoutes(app: FastifyInstance, calls: HandedBackCalls): void {
  const { installation } = app
  const responses = new StoredResponses(installation)
  const answer = async (request: FastifyRequest<{ Body: ResponseBody }>, reply: FastifyReply) => {
    const { caller, body } = request
    const { run: asked, names, warnings } = readResponse(body)
    const models = await installation.manager.getModels()
    const model = models.get(body.model, caller.models)
    const conversation = calls.restore(caller, await readInput(body, (id) => responses.get(caller, id)))
    requireMedia(conversation, model, () => models.list(caller.models).map(({ id }) => models.get(id)), 'input')
    await requireFormat(asked, 'text.format')
    const { instructions } = body
    const system: readonly Message[] = instructions ? [{ role: 'system', content: instructions }] : []
    const messages = [...system, ...conversation]
    const { prices } = models.info(body.model)
    const run = new ClientRun(app, request, reply, { stores: body.store !== false })
    const id = `${RESPONSE_PREFIX}${run.id.replaceAll('-', '')}`
    const head = { id, created_at: Math.floor(installation.clock.wall() / 1_000), body, names, warnings }
    /** The response, stored before the client gets it. */
    const finish = async (writer: ResponseWriter, { answer, messages: all }: Answered): Promise<ResponseObject> => {
      const response = await writer.finish(answer)
      const { ids } = writer
      if (ids.length > 0) calls.keep(caller, all.slice(messages.length), new Map(ids))
      if (body.store === false) return response
      const stored = { response, messages: all.slice(system.length), ids }
      return { ...response, store: await responses.put(caller, id, stored) }
    }
    try {
      const events = installation.durableRuns.pausing({ ...asked, model, messages, context: run.context, prices })
      if (body.stream === true) return await tell(request, reply, events, head, finish)
      const writer = new ResponseWriter(head, async () => {})
      let response: ResponseObject | undefined
      for await (const event of events) {
        if (event.type === 'answer') response = await finish(writer, event)
        else await writer.write(event)
      }
      return response
    } finally {
      run.done()
    }
  }

  const tell = (
    request: FastifyRequest,
    reply: FastifyReply,
    events: RunEvents,
    head: ResponseHead,
    finish: (writer: ResponseWriter, answered: Answered) => Promise<ResponseObject>,
  ): Promise<void> => {
    // A run that fails at once is answered with an error status instead of a stream.
    const judge = (early: RunEvent): void => {
      if (early.type === 'answer') finishReason(early.answer)
    }
    return streamRun(
      app,
      reply,
      events,
      (stream): RunWriter => {
        const writer = new ResponseWriter(head, (type, data) => stream.send(type, data))
        return {
          async write(event) {
            if (event.type === 'answer') await writer.end(await finish(writer, event))
            else await writer.write(event)
          },
          fail: (error) => writer.fail(openAiErrorOf(installation, error, request).toJSON()),
        }
      },
      judge,
    )
  }

  app.post<{ Body: ResponseBody }>(
    '/v1/responses',
    route('chat', 'openai', 'OpenAI responses: runs the tools of the server and hands calls of client tools back', {
      body: RESPONSE_SCHEMA,
    }),
    answer,
  )

  app.get<OneResponse>(
    '/v1/responses/:id',
    route('chat', 'openai', 'Returns a stored response of the caller', { params: pathParameter('id', 200) }),
    async ({ caller, params: { id } }) => {
      const stored = await responses.get(caller, id)
      if (stored === undefined) throw notFound(id, 'response_id')
      return stored.response
    },
  )

  app.delete<OneResponse>(
    '/v1/responses/:id',
    route('chat', 'openai', 'Deletes a stored response of the caller', { params: pathParameter('id', 200) }),
    async ({ caller, params: { id } }) => {
      if ((await responses.get(caller, id)) === undefined) throw notFound(id, 'response_id')
      await responses.remove(caller, id)
      return { id, object: 'response', deleted: true }
    },
  )
}

type Status = 'in_progress' | 'completed' | 'incomplete'

type TextItem = {
  readonly id: string
  readonly type: 'message'
  readonly role: 'assistant'
  status: Status
  readonly content: { type: 'output_text'; text: string; annotations: []; logprobs: [] }[]
}

type CallItem = {
  readonly id: string
  readonly type: 'function_call'
  /** The client's id of the call. */
  readonly call_id: string
  readonly name: string
  readonly namespace?: string
  arguments: string
  status: Status
}

type Item = TextItem | CallItem

/** A response, with the fields that OpenAI clients require. */
type ResponseObject = Wire & { readonly output: readonly Item[] }

interface ResponseHead {
  readonly id: string
  readonly created_at: number
  readonly body: ResponseBody
  /** The client's tools, by the names that the model sees. */
  readonly names: ReadonlyMap<string, ClientName>
  readonly warnings: readonly string[]
}

type SendEvent = (type: string, data: object) => Promise<void>

/** Builds a response from the events of a run, and sends OpenAI's events on the way. */
class ResponseWriter {
  readonly #head: ResponseHead
  readonly #send: SendEvent
  readonly #output: Item[] = []
  /** The client's calls, by the ids of the model. */
  readonly #calls = new Map<string, CallItem>()
  #message: TextItem | undefined
  /** The text of this turn. */
  #said = ''
  #sequence = 0

  constructor(head: ResponseHead, send: SendEvent) {
    this.#head = head
    this.#send = send
  }

  /** The ids that the client got for its calls, and those of the model. */
  get ids(): [string, string][] {
    return Array.from(this.#calls, ([modelId, { call_id }]) => [call_id, modelId])
  }

  async write(event: RunEvent): Promise<void> {
    if (this.#sequence === 0) await this.#begin()
    switch (event.type) {
      case 'text-delta':
        return this.#say(event.text)
      case 'tool-call-start':
        return this.#startCall(event.id, event.name)
      case 'tool-call-delta':
        return this.#goOn(event.id, event.text)
      case 'tool-call-end':
        return this.#endCall(event.call)
      case 'call-result':
        this.#said = ''
        return this.#endMessage()
    }
  }

  /** Completes the response. Throws an `OpenAiError` if the run failed. */
  async finish(answer: RunAnswer): Promise<ResponseObject> {
    const reason = finishReason(answer)
    const content = contentOf(answer)
    if (!content.startsWith(this.#said)) {
      await this.#endMessage()
      this.#said = ''
    }
    await this.#say(content.slice(this.#said.length))
    await this.#endMessage()
    // The tokens ran out during a call.
    for (const [id, call] of this.#calls) {
      if (call.status !== 'in_progress') continue
      this.#calls.delete(id)
      await this.#endItem(call, 'incomplete')
    }
    const why = reason === 'length' ? 'max_output_tokens' : 'content_filter'
    const isWhole = reason !== 'length' && reason !== 'content_filter'
    return {
      ...this.#response(isWhole ? 'completed' : 'incomplete'),
      incomplete_details: isWhole ? null : { reason: why },
      usage: usageOf(answer.usage),
      toolyard: aboutRun(answer, this.#head.warnings),
    }
  }

  /** The last event. */
  async end(response: ResponseObject): Promise<void> {
    if (this.#sequence === 0) await this.#begin()
    await this.#tell(`response.${response.status}`, { response })
  }

  async fail(error: { readonly error: object }): Promise<void> {
    await this.#tell('error', { ...error.error, ...error })
  }

  async #begin(): Promise<void> {
    const response = { ...this.#response('in_progress'), usage: null }
    await this.#tell('response.created', { response })
    await this.#tell('response.in_progress', { response })
  }

  async #say(delta: string): Promise<void> {
    if (delta === '') return
    this.#said += delta
    const message = this.#message ?? (await this.#startMessage())
    const [part] = message.content as [TextItem['content'][number]]
    part.text += delta
    await this.#tellOf(message, 'response.output_text.delta', { content_index: 0, delta, logprobs: [] })
  }

  async #startMessage(): Promise<TextItem> {
    const id = itemId('msg', this.#head.id, this.#output.length)
    // Clients join the texts of all messages.
    const isFirst = !this.#output.some(({ type }) => type === 'message')
    const message: TextItem = { id, type: 'message', role: 'assistant', status: 'in_progress', content: [] }
    this.#message = message
    await this.#add(message)
    message.content.push({ type: 'output_text', text: '', annotations: [], logprobs: [] })
    await this.#tellOf(message, 'response.content_part.added', { content_index: 0, part: message.content[0] })
    if (!isFirst) {
      const delta = '\n\n'
      message.content[0] = { type: 'output_text', text: delta, annotations: [], logprobs: [] }
      await this.#tellOf(message, 'response.output_text.delta', { content_index: 0, delta, logprobs: [] })
    }
    return message
  }

  async #endMessage(): Promise<void> {
    const message = this.#message
    if (message === undefined) return
    this.#message = undefined
    const [part] = message.content as [TextItem['content'][number]]
    await this.#tellOf(message, 'response.output_text.done', { content_index: 0, text: part.text, logprobs: [] })
    await this.#tellOf(message, 'response.content_part.done', { content_index: 0, part })
    await this.#endItem(message, 'completed')
  }

  async #startCall(modelId: string, offered: string): Promise<void> {
    const named = this.#head.names.get(offered)
    if (named === undefined || this.#calls.has(modelId)) return
    await this.#endMessage()
    const id = itemId('fc', this.#head.id, this.#output.length)
    const call: CallItem = {
      ...{ id, type: 'function_call', call_id: newCallId(), ...named },
      arguments: '',
      status: 'in_progress',
    }
    this.#calls.set(modelId, call)
    await this.#add(call)
  }

  async #goOn(modelId: string, delta: string): Promise<void> {
    const call = this.#calls.get(modelId)
    if (call === undefined || delta === '') return
    call.arguments += delta
    await this.#tellOf(call, 'response.function_call_arguments.delta', { delta })
  }

  /** Sends the rest of a call. Some models send calls only as a whole. */
  async #endCall({ id, function: { name, arguments: text } }: ToolCall): Promise<void> {
    await this.#startCall(id, name)
    const call = this.#calls.get(id)
    if (call === undefined) return
    await this.#goOn(id, text.slice(call.arguments.length))
    const { name: clients, arguments: whole } = call
    await this.#tellOf(call, 'response.function_call_arguments.done', { name: clients, arguments: whole })
    await this.#endItem(call, 'completed')
  }

  async #add(item: Item): Promise<void> {
    this.#output.push(item)
    await this.#tell('response.output_item.added', { output_index: this.#output.length - 1, item })
  }

  async #endItem(item: Item, status: Status): Promise<void> {
    item.status = status
    const output_index = this.#output.findIndex(({ id }) => id === item.id)
    await this.#tell('response.output_item.done', { output_index, item })
  }

  #tellOf({ id }: Item, type: string, data: object): Promise<void> {
    const output_index = this.#output.findIndex((one) => one.id === id)
    return this.#tell(type, { item_id: id, output_index, ...data })
  }

  #tell(type: string, data: object): Promise<void> {
    return this.#send(type, { type, sequence_number: this.#sequence++, ...data })
  }

  #response(status: Status): ResponseObject {
    const { id, created_at, body } = this.#head
    return {
      id,
      object: 'response',
      created_at,
      status,
      error: null,
      incomplete_details: null,
      instructions: body.instructions ?? null,
      max_output_tokens: body.max_output_tokens ?? null,
      metadata: body.metadata ?? {},
      model: body.model,
      output: this.#output,
      parallel_tool_calls: true,
      previous_response_id: body.previous_response_id ?? null,
      reasoning: { effort: null, summary: null },
      store: body.store !== false,
      temperature: body.temperature ?? null,
      text: { format: body.text?.format ?? { type: 'text' } },
      tool_choice: body.tool_choice ?? 'auto',
      tools: body.tools ?? [],
      top_p: null,
      truncation: 'disabled',
    }
  }
}

/** Clients require it, so it is 0 if the provider doesn't report it. */
function usageOf(usage: Usage | undefined): object {
  const { prompt_tokens = 0, completion_tokens = 0, total_tokens = 0, cached_tokens = 0 } = usage ?? {}
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens,
  }
}
