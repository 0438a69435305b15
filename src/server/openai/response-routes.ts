import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RunEvent } from '../../chat/run.ts'
import { RESPONSE_PREFIX } from '../../core/storage/chat-store.ts'
import type { Message } from '../../models/model.ts'
import { ClientRun, type RunEvents, type RunWriter, streamRun } from '../chat/client-run.ts'
import { pathParameter, route } from '../http/route.ts'
import { finishReason } from './completion-stream.ts'
import type { HandedBackCalls } from './handed-back.ts'
import { openAiErrorOf } from './openai-error.ts'
import { requireFormat, requireMedia } from './request-parts.ts'
import { notFound, RESPONSE_SCHEMA, type ResponseBody, readInput, readResponse } from './response-request.ts'
import { type ResponseHead, type ResponseObject, ResponseWriter } from './response-stream.ts'
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
    const asked = readResponse(body)
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
    const head = { id, created_at: Math.floor(installation.clock.wall() / 1_000), body }
    const clientTools = new Set(asked.client_tools?.map(({ name }) => name))
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
      if (body.stream === true) return await tell(request, reply, events, head, clientTools, finish)
      const writer = new ResponseWriter(head, clientTools, async () => {})
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
    clientTools: ReadonlySet<string>,
    finish: (writer: ResponseWriter, answered: Answered) => Promise<ResponseObject>,
  ): Promise<FastifyReply> => {
    // A run that fails at once is answered with an error status instead of a stream.
    const judge = (early: RunEvent): void => {
      if (early.type === 'answer') finishReason(early.answer)
    }
    return streamRun(
      app,
      reply,
      events,
      (stream): RunWriter => {
        const writer = new ResponseWriter(head, clientTools, (type, data) => stream.send(type, data))
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
