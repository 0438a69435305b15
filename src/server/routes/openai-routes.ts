import type { FastifyInstance } from 'fastify'
import { splitModelId } from '../../models/catalogue/split-model-id.ts'
import { answerOpenAiError } from '../openai/answer-openai-error.ts'
import type { CompletionBody } from '../openai/completion-request.ts'
import { COMPLETION_SCHEMA } from '../openai/completion-schema.ts'
import { Completions } from '../openai/completions.ts'
import { HandedBackCalls } from '../openai/handed-back.ts'
import { OpenAiError } from '../openai/openai-error.ts'
import type { Service } from '../service.ts'

/** What clients of OpenAI's API ask for, answered in its form; errors too, which are problem+json everywhere else. */
export function openAiRoutes(app: FastifyInstance, service: Service): void {
  const { installation } = service
  const completions = new Completions(service, new HandedBackCalls(installation.clock))
  const listed = async () => (await installation.manager.getModels()).list().map(({ id }) => modelObject(id))

  app.register(async (routes) => {
    routes.setErrorHandler((error, request, reply) => answerOpenAiError(installation, error, request, reply))

    routes.post<{ Body: CompletionBody }>(
      '/v1/chat/completions',
      {
        config: { scope: 'chat' },
        schema: {
          summary: "OpenAI's chat completions: the tools of the server are run, those of the client handed back to it",
          tags: ['openai'],
          body: COMPLETION_SCHEMA,
        },
      },
      (request, reply) => completions.answer(request, reply),
    )

    routes.get(
      '/v1/models',
      { config: { scope: 'read' }, schema: { summary: 'The models, in the form of OpenAI', tags: ['openai'] } },
      async () => ({ object: 'list', data: await listed() }),
    )

    routes.get<{ Params: { '*': string } }>(
      '/v1/models/*',
      { config: { scope: 'read' }, schema: { summary: 'One of them, by its id', tags: ['openai'] } },
      async ({ params: { '*': id } }) => {
        const model = (await listed()).find((one) => one.id === id)
        if (model === undefined) throw unknownModel(id)
        return model
      },
    )
  })
}

/** Nobody knows when a model was made. */
const modelObject = (id: string) => ({
  id,
  object: 'model',
  created: 0,
  owned_by: splitModelId(id)?.provider ?? '',
})

const unknownModel = (id: string): OpenAiError =>
  new OpenAiError(404, `The model '${id.slice(0, 200)}' does not exist: GET /v1/models lists those that do`, {
    param: 'model',
    code: 'model_not_found',
  })
