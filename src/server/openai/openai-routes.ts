import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RunEvent } from '../../chat/run.ts'
import { splitModelId } from '../../models/model-info.ts'
import { ClientRun, type RunEvents, type RunWriter, streamRun } from '../chat/client-run.ts'
import type { EventStream } from '../http/event-stream.ts'
import { route } from '../http/route.ts'
import { type CompletionHead, CompletionStream, completion, finishReason } from './completion.ts'
import { type AskedCompletion, COMPLETION_SCHEMA, type CompletionBody, readCompletion } from './completion-request.ts'
import { HandedBackCalls, newCallId } from './handed-back.ts'
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
    const model = models.get(asked.model)
    const { prices } = models.info(asked.model)
    const messages = this.#handedBack.restore(caller, asked.messages)
    const run = new ClientRun(this.#app, request, reply)
    const head = { id: `chatcmpl-${run.id}`, created: Math.floor(clock.wall() / 1_000), model: asked.model }
    const { context } = run
    const events = manager.getLoop().run({ ...asked.run, model, messages, context, prices })
    const answering: Answering = {
      asked,
      head,
      keep: ({ messages: all }, ids) => this.#handedBack.keep(caller, all.slice(messages.length), ids),
    }
    try {
      return asked.stream ? await this.#tell(request, reply, events, answering) : await this.#whole(events, answering)
    } finally {
      run.done()
    }
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

async function last(events: RunEvents): Promise<Answered> {
  let answered: Answered | undefined
  for await (const event of events) if (event.type === 'answer') answered = event
  return answered as Answered
}

/** OpenAI-compatible endpoints. Errors have OpenAI's format too. */
export function openAiRoutes(app: FastifyInstance): void {
  const { installation } = app
  const completions = new Completions(app, new HandedBackCalls(installation.clock))
  const listed = async () => (await installation.manager.getModels()).list().map(({ id }) => modelObject(id))

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
        },
      ),
      (request, reply) => completions.answer(request, reply),
    )

    routes.get('/v1/models', route('read', 'openai', 'Lists the models in the OpenAI format'), async () => ({
      object: 'list',
      data: await listed(),
    }))

    routes.get<{ Params: { '*': string } }>(
      '/v1/models/*',
      route('read', 'openai', 'Returns one model by its id'),
      async ({ params: { '*': id } }) => {
        const model = (await listed()).find((one) => one.id === id)
        if (model === undefined) throw unknownModel(id)
        return model
      },
    )
  })
}

/** The creation time of models is unknown. */
const modelObject = (id: string) => ({
  id,
  object: 'model',
  created: 0,
  owned_by: splitModelId(id)?.provider ?? '',
})

const unknownModel = (id: string): OpenAiError =>
  new OpenAiError(404, `The model '${id.slice(0, 200)}' does not exist: GET /v1/models lists the models`, {
    param: 'model',
    code: 'model_not_found',
  })
