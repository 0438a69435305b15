import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { StartedBefore } from '../../app/durable/durable-runs.ts'
import type { RunAnswer, RunEvent, RunRequest } from '../../chat/run.ts'
import type { Cancellation } from '../../core/cancellation.ts'
import type { Taken } from '../../core/costs.ts'
import { matchesGlobs } from '../../core/execution/permit.ts'
import { shortened } from '../../core/schema/problem-words.ts'
import type { Embedder } from '../../knowledge/embedding/embedder.ts'
import type { Availability } from '../../models/model-catalogue.ts'
import { ModelError } from '../../models/model-error.ts'
import { splitModelId, turnCost } from '../../models/model-info.ts'
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
import { HandedBackCalls, newCallId } from './handed-back.ts'
import { answerOpenAiError, invalid, OpenAiError, openAiErrorOf } from './openai-error.ts'
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

  async #whole(events: RunEvents, { asked, head, keep }: Answering): Promise<object> {
    const answered = await last(events)
    const { answer } = answered
    const calls = (answer.client_calls ?? []).map((call) => ({ call, id: newCallId() }))
    if (calls.length > 0) keep(answered, new Map(calls.map(({ call, id }) => [id, call.id])))
    const handed = calls.map(({ call: { type, function: called }, id }) => ({ id, type, function: called }))
    return completion(head, answer, handed, asked.warnings)
  }

  #tell(
    request: FastifyRequest,
    reply: FastifyReply,
    events: RunEvents,
    { asked, head, keep }: Answering,
  ): Promise<void> {
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

const MAX_TEXTS = 2_048
const CHARACTERS_PER_TOKEN = 4

const EMBEDDING_SCHEMA = {
  type: 'object',
  required: ['model', 'input'],
  additionalProperties: true,
  properties: {
    model: { type: 'string', minLength: 1, maxLength: 300, description: 'The configured embedder.' },
    input: { type: ['string', 'array'], minItems: 1, maxItems: MAX_TEXTS, description: 'A text, or a list of texts.' },
    encoding_format: { enum: ['float', 'base64', null] },
    dimensions: { type: ['integer', 'null'], minimum: 1, description: 'Only those of the model.' },
  },
} as const

interface EmbeddingBody {
  readonly model: string
  readonly input: string | readonly unknown[]
  readonly encoding_format?: 'float' | 'base64' | null
  readonly dimensions?: number | null
}

/** OpenAI's embeddings, by the configured embedder. */
function embeddingRoutes(app: FastifyInstance): void {
  const { installation } = app
  app.post<{ Body: EmbeddingBody }>(
    '/v1/embeddings',
    route('chat', 'openai', 'OpenAI embeddings, by the configured embedder', { body: EMBEDDING_SCHEMA }),
    async (request, reply) => {
      const { caller, body } = request
      const texts = readTexts(body.input)
      const embedder = await installation.manager.getEmbedder()
      if (embedder === undefined || embedder.id !== body.model || !matchesGlobs(caller.models, embedder.id)) {
        throw unknownEmbedder(body.model, embedder, caller.models)
      }
      requireFit(texts, body, embedder)
      const vectors = await embed(app, request, reply, texts, embedder)
      const isText = body.encoding_format === 'base64'
      const tokens = tokensOf(texts)
      return {
        object: 'list',
        model: embedder.id,
        data: vectors.map((vector, index) => ({
          object: 'embedding',
          index,
          embedding: isText ? base64Of(vector) : Array.from(vector),
        })),
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      }
    },
  )
}

/** The request counts as a call of the caller, and ends with it. What was embedded is charged like a turn of a model. */
async function embed(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  texts: readonly string[],
  embedder: Embedder,
): Promise<Float32Array[]> {
  const { manager, budgets } = app.installation
  const { prices } = (await manager.getModels()).list().find(({ id }) => id === embedder.id) ?? {}
  const costOf = (embedded: readonly string[]) => {
    const tokens = tokensOf(embedded)
    return turnCost(prices, { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens })
  }
  const run = new ClientRun(app, request, reply)
  const { tenant } = request.caller
  const spender = { tenant, keyId: run.context.keyId, model: embedder.id }
  const vectors: Float32Array[] = []
  let taken: Taken | undefined
  try {
    await manager.getExecutor().count(run.context)
    taken = await budgets.take(spender, costOf(texts))
    const { signal } = run.context.signal as Cancellation
    for (let at = 0; at < texts.length; at += embedder.batch) {
      const batch = texts.slice(at, at + embedder.batch)
      vectors.push(...(await embedder.embed(batch, 'document', signal, tenant)))
    }
    return vectors
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    const status = error.status === 429 || error.status === 503 ? 503 : error.status === 504 ? 504 : 502
    throw new OpenAiError(status, error.message, { code: 'model_failed' })
  } finally {
    const embedded = texts.slice(0, vectors.length)
    if (embedded.length > 0 || taken?.hold !== undefined) budgets.turn(spender, costOf(embedded), taken?.hold)
    run.done()
  }
}

const tokensOf = (texts: readonly string[]): number =>
  Math.ceil(texts.reduce((sum, { length }) => sum + length, 0) / CHARACTERS_PER_TOKEN)

function readTexts(input: string | readonly unknown[]): readonly string[] {
  const texts = typeof input === 'string' ? [input] : input
  return texts.map((text, index) => {
    const place = typeof input === 'string' ? 'input' : `input[${index}]`
    if (typeof text === 'number' || Array.isArray(text)) {
      throw invalid('input', `${place}: tokens are not supported: send texts`, 'unsupported_value')
    }
    if (typeof text !== 'string' || text.trim() === '')
      throw invalid('input', `${place} must be a text that is not empty`)
    return text
  })
}

function requireFit(texts: readonly string[], { dimensions }: EmbeddingBody, embedder: Embedder): void {
  const { id, maxCharacters = Number.POSITIVE_INFINITY } = embedder
  if (dimensions != null && dimensions !== embedder.dimensions) {
    refuse('dimensions', `dimensions must be ${embedder.dimensions}, those of ${id}, not ${dimensions}`)
  }
  const long = texts.findIndex(({ length }) => length > maxCharacters)
  if (long === -1) return
  const { length } = texts[long] as string
  throw invalid('input', `Text ${long + 1} has ${length} characters, and ${id} reads ${maxCharacters}: split it`)
}

function unknownEmbedder(model: string, embedder: Embedder | undefined, allowed: readonly string[]): OpenAiError {
  const fix =
    embedder === undefined
      ? 'this server has no embedder: set knowledge.embedder'
      : matchesGlobs(allowed, embedder.id)
        ? `use ${embedder.id}`
        : 'this API key may not use the embedder of this server'
  const message = `The embedding model '${shortened(model)}' does not exist: ${fix}`
  return new OpenAiError(404, message, { param: 'model', code: 'model_not_found' })
}

const base64Of = ({ buffer, byteOffset, byteLength }: Float32Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64')
