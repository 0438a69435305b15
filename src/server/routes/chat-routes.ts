import type { FastifyInstance } from 'fastify'
import type { Profile } from '../../chat/rules/response-rule.ts'
import type { Message } from '../../models/model.ts'
import { answerChat } from '../chat/answer-chat.ts'
import { ANSWER_SCHEMA, CHAT_SCHEMA, TEST_SCHEMA } from '../chat/chat-schemas.ts'
import { HttpProblem } from '../http-problem.ts'
import type { Service } from '../service.ts'

interface ChatBody {
  readonly message: string
  readonly previous_messages?: readonly Message[]
  readonly profile?: Profile
  readonly session_id?: string
  readonly tool_name?: string
  readonly tool_params?: unknown
}

interface TestBody {
  readonly query?: string
  readonly model?: string
}

/** Questions: answered by the response rules, or by a model on trial. */
export function chatRoutes(app: FastifyInstance, service: Service): void {
  app.post<{ Body: ChatBody }>(
    '/chat',
    {
      config: { scope: 'chat' },
      schema: {
        summary: 'Answers a question by the response rules; as events where text/event-stream is accepted',
        tags: ['chat'],
        body: CHAT_SCHEMA,
        response: { 200: ANSWER_SCHEMA },
      },
    },
    (request, reply) => {
      const { session_id, ...asked } = request.body
      if (asked.message.trim() === '') throw new HttpProblem(400, 'The message is empty')
      if (asked.tool_params !== undefined && asked.tool_name === undefined) {
        throw new HttpProblem(400, 'There are tool_params, but no tool_name', 'say which tool they are for')
      }
      return answerChat(service, request, reply, asked, session_id)
    },
  )

  app.post<{ Body: TestBody }>(
    '/api/tools/test',
    {
      config: { scope: 'chat' },
      schema: {
        summary: 'Lets one model answer with every tool; nothing is recorded about the model',
        tags: ['chat'],
        body: TEST_SCHEMA,
        response: { 200: ANSWER_SCHEMA },
      },
    },
    (request, reply) => {
      const { query = '', model = '' } = request.body
      if (query.trim() === '' || model.trim() === '') throw new HttpProblem(400, 'Missing query or model')
      return answerChat(service, request, reply, { message: query, model })
    },
  )
}
