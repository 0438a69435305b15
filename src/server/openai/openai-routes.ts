import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { StartedBefore } from '../../app/durable/durable-runs.ts'
import type { RunAnswer, RunEvent, RunRequest } from '../../chat/run.ts'
import type { Availability } from '../../models/model-catalogue.ts'
import { splitModelId } from '../../models/model-info.ts'
import { ClientRun, type RunEvents, type RunWriter, streamRun } from '../chat/client-run.ts'
import { answerStarted, START_HEADERS, type Start, startedBefore, startOf } from '../chat/durable-run-routes.ts'
import type { EventStream } from '../http/event-stream.ts'
import { object, route } from '../http/route.ts'
import {
  type AskedCompletion,
  COMPLETION_SCHEMA,
  type CompletionBody,
  readCompletion,
  refuse,
} from './completion-request.ts'
import { type CompletionHead, CompletionStream, completion, finishReason } from './completion-stream.ts'
import { embeddingRoutes } from './embedding-routes.ts'
import { HandedBackCalls, newCallId } from './handed-back.ts'
import { answerOpenAiError, OpenAiError, openAiErrorOf } from './openai-error.ts'
import { requireFormat, requireMedia } from './request-parts.ts'
import { responseRoutes } from './response-routes.ts'

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
    requireMedia(asked.messages, model, () => models.list(caller.models).map(({ id }) => models.get(id)), 'messages')
    await requireFormat(asked.run, 'response_format')
    const { prices } = models.info(asked.model)
    const messages = this.#handedBack.restore(caller, asked.messages)
    const start = request.headers['toolyard-durable'] === 'true' ? startOf(request, body) : undefined
    const stores = body.store !== false
    if (start !== undefined && !stores) refuse('store', 'A durable run is stored: leave store or Toolyard-Durable out')
    const run = new ClientRun(this.#app, request, reply, { id: start?.id, stores })
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
    const { fingerprint } = start
    let before = await startedBefore(this.#app, caller, start)
    if (before === undefined) {
      try {
        const events = await durableRuns.start(run, fingerprint === undefined ? {} : { fingerprint }, start.async)
        return start.async ? undefined : events
      } catch (error) {
        // By another request with the same key, at the same time.
        before = error instanceof StartedBefore ? await startedBefore(this.#app, caller, start) : undefined
        if (before === undefined) throw error
      }
    }
    if (before.answer !== undefined) return answered(before.answer)
    if (!start.async) {
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
  const calls = new HandedBackCalls(installation.clock)
  const completions = new Completions(app, calls)
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

    responseRoutes(routes, calls)
    embeddingRoutes(routes)

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
