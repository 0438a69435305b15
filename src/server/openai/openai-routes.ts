import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RunAnswer, RunEvent, RunRequest, StopReason, TrackedCall } from '../../chat/run.ts'
import type { ToolCall, Usage } from '../../models/model.ts'
import type { Availability } from '../../models/model-catalogue.ts'
import { splitModelId } from '../../models/model-info.ts'
import { ClientRun, type RunEvents, type RunWriter, streamRun } from '../chat/client-run.ts'
import { answerStarted, START_HEADERS, type Start, startedBefore, startOf } from '../chat/durable-run-routes.ts'
import type { EventStream } from '../http/event-stream.ts'
import { waitSeconds } from '../http/problem.ts'
import { object, route } from '../http/route.ts'
import {
  type AskedCompletion,
  COMPLETION_SCHEMA,
  type CompletionBody,
  HandedBackCalls,
  newCallId,
  readCompletion,
  requireMedia,
} from './completion-request.ts'
import { answerOpenAiError, OpenAiError, openAiErrorOf } from './openai-error.ts'

type Answered = Extract<RunEvent, { type: 'answer' }>

interface Answering {
  readonly asked: AskedCompletion
  readonly head: CompletionHead
  /** Stores the turns that the client doesn't get, for its next request. */
  readonly keep: (answered: Answered, ids: ReadonlyMap<string, string>) => void
}

/** Answers OpenAI clients: runs the tools of the server, and hands calls of client tools back. */
class Completions {
  readonly #app: FastifyInstance
  readonly #handedBack: HandedBackCalls

  constructor(app: FastifyInstance, handedBack: HandedBackCalls) {
    this.#app = app
    this.#handedBack = handedBack
  }

  async answer(request: FastifyRequest<{ Body: CompletionBody }>, reply: FastifyReply): Promise<unknown> {
    const { manager, clock } = this.#app.installation
    const { caller, body } = request
    const asked = readCompletion(body)
    const models = await manager.getModels()
    const model = models.get(asked.model, caller.models)
    requireMedia(asked, model, () => models.list(caller.models).map(({ id }) => models.get(id)))
    const { prices } = models.info(asked.model)
    const messages = this.#handedBack.restore(caller, asked.messages)
    const start = request.headers['toolyard-durable'] === 'true' ? startOf(request, body) : undefined
    const run = new ClientRun(this.#app, request, reply, undefined, start?.id)
    const head = { id: `chatcmpl-${run.id}`, created: Math.floor(clock.wall() / 1_000), model: asked.model }
    const answering: Answering = {
      asked,
      head,
      keep: ({ messages: all }, ids) => this.#handedBack.keep(caller, all.slice(messages.length), ids),
    }
    try {
      const question = { ...asked.run, model, messages, context: run.context, prices }
      const events = await this.#events(request, question, start)
      if (events === undefined) return answerStarted(reply, run.id)
      return asked.stream ? await this.#tell(request, reply, events, answering) : await this.#whole(events, answering)
    } finally {
      run.done()
    }
  }

  /** The events of a run; undefined if the client does not wait for the answer. */
  async #events({ caller }: FastifyRequest, run: RunRequest, start: Start | undefined): Promise<RunEvents | undefined> {
    const { durableRuns } = this.#app.installation
    if (start === undefined) return durableRuns.pausing(run)
    const before = await startedBefore(this.#app, caller, start)
    if (before?.answer !== undefined) return answered(before.answer)
    if (before === undefined) {
      const { fingerprint } = start
      const events = await durableRuns.start(run, fingerprint === undefined ? {} : { fingerprint }, start.async)
      if (!start.async) return events
    } else if (!start.async) {
      const message = `The run '${before.run.id}' still works: follow it at /api/runs/${before.run.id}/events`
      throw new OpenAiError(409, message, { code: 'still_running' })
    }
    return undefined
  }

  async #whole(events: RunEvents, { head, keep }: Answering): Promise<object> {
    const answered = await last(events)
    const { answer } = answered
    const calls = (answer.client_calls ?? []).map((call) => ({ call, id: newCallId() }))
    if (calls.length > 0) keep(answered, new Map(calls.map(({ call, id }) => [id, call.id])))
    const handed = calls.map(({ call: { type, function: called }, id }) => ({ id, type, function: called }))
    return completion(head, answer, handed)
  }

  #tell(
    request: FastifyRequest,
    reply: FastifyReply,
    events: RunEvents,
    { asked, head, keep }: Answering,
  ): Promise<FastifyReply> {
    const { installation } = this.#app
    const write = (stream: EventStream): RunWriter => {
      const chunks = new CompletionStream(stream, head, asked)
      return {
        async write(event) {
          if (event.type === 'answer' && event.answer.client_calls !== undefined) keep(event, chunks.ids)
          await chunks.write(event)
        },
        fail: (error) => stream.sendText(JSON.stringify(openAiErrorOf(installation, error, request))),
      }
    }
    // A run that fails at once is answered with an error status instead of a stream.
    const judge = (early: RunEvent): void => {
      if (early.type === 'answer') finishReason(early.answer)
    }
    return streamRun(this.#app, reply, events, write, judge)
  }
}

/** The answer of a run that has ended before. */
async function* answered(answer: RunAnswer): RunEvents {
  yield { type: 'answer', answer, messages: [] }
}

async function last(events: RunEvents): Promise<Answered> {
  let answered: Answered | undefined
  for await (const event of events) if (event.type === 'answer') answered = event
  return answered as Answered
}

/** OpenAI-compatible endpoints. Errors have OpenAI's format too. */
export function openAiRoutes(app: FastifyInstance): void {
  const { installation } = app
  const completions = new Completions(app, new HandedBackCalls(installation.clock))
  const listed = async ({ caller }: FastifyRequest) => {
    const models = await installation.manager.getModels()
    void models.checkLocal()
    return models.list(caller.models).map(({ id }) => modelObject(id, models.availability(id)))
  }

  app.register(async (routes) => {
    routes.setErrorHandler((error, request, reply) => answerOpenAiError(installation, error, request, reply))

    routes.post<{ Body: CompletionBody }>(
      '/v1/chat/completions',
      route(
        'chat',
        'openai',
        'OpenAI chat completions: runs the tools of the server and hands calls of client tools back',
        {
          body: COMPLETION_SCHEMA,
          headers: object({
            ...START_HEADERS,
            'toolyard-durable': { enum: ['true', 'false'], description: 'true: the run survives a crash.' },
          }),
        },
      ),
      (request, reply) => completions.answer(request, reply),
    )

    routes.get('/v1/models', route('read', 'openai', 'Lists the models in the OpenAI format'), async (request) => ({
      object: 'list',
      data: await listed(request),
    }))

    routes.get<{ Params: { '*': string } }>(
      '/v1/models/*',
      route('read', 'openai', 'Returns one model by its id'),
      async (request) => {
        const { '*': id } = request.params
        const model = (await listed(request)).find((one) => one.id === id)
        if (model === undefined) throw unknownModel(id)
        return model
      },
    )
  })
}

/** The creation time of models is unknown. Other clients ignore why a model can't be used. */
const modelObject = (id: string, availability: Availability) => ({
  id,
  object: 'model',
  created: 0,
  owned_by: splitModelId(id)?.provider ?? '',
  ...availability,
})

const unknownModel = (id: string): OpenAiError =>
  new OpenAiError(404, `The model '${id.slice(0, 200)}' does not exist: GET /v1/models lists the models`, {
    param: 'model',
    code: 'model_not_found',
  })

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
  /** The client's calls, by the ids of the model. */
  readonly #calls = new Map<string, HandedCall>()
  #begun = false
  /** The text of this turn. */
  #said = ''
  /** Whether an earlier turn had text. */
  #spoke = false

  constructor(stream: EventStream, head: CompletionHead, { includeUsage, run }: AskedCompletion) {
    this.#stream = stream
    this.#head = head
    this.#includeUsage = includeUsage
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
    await this.#chunk({ choices: [choice], toolyard: aboutRun(answer) })
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
interface CompletionHead {
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

/** The last text of the model, including the extra turn after a limit. */
const contentOf = ({ content, final_answer }: RunAnswer): string => final_answer ?? content

const usageOf = ({ prompt_tokens, completion_tokens, total_tokens }: Usage): Usage => ({
  prompt_tokens,
  completion_tokens,
  total_tokens,
})

/** Throws an `OpenAiError` if the run failed. */
function finishReason(answer: RunAnswer): FinishReason {
  const { stop_reason, client_calls } = answer
  if (client_calls !== undefined) return 'tool_calls'
  if (stop_reason !== 'error' && stop_reason !== 'cancelled') return FINISH[stop_reason]
  throw failed(stop_reason, answer)
}

/** Data that OpenAI's format lacks: the stop reason, and the tools that ran on the server. */
const aboutRun = ({ stop_reason, tool_calls, status, run_id, approvals }: RunAnswer): object => ({
  ...(status !== undefined && { status, run_id, approvals }),
  stop_reason,
  tool_calls: tool_calls.map(aboutCall),
})

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
