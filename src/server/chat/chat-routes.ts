import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ChatRequest } from '../../chat/chat.ts'
import { NoResponseRuleError } from '../../chat/rules/no-response-rule-error.ts'
import type { Profile } from '../../chat/rules/response-rule.ts'
import { ToolRefusedError } from '../../chat/tool-refused-error.ts'
import type { Installation } from '../../config/installation.ts'
import { writeLog } from '../../core/log.ts'
import { TOOL_ERRORS } from '../../core/tool-error-code.ts'
import { UnknownModelError } from '../../models/catalogue/unknown-model-error.ts'
import type { Message } from '../../models/model.ts'
import { acceptsEvents, type EventStream } from '../http/event-stream.ts'
import { HttpProblem } from '../http/problem.ts'
import { ClientRun, type RunWriter, streamRun } from './client-run.ts'

/** Why a run ended. */
export const STOP_REASON = {
  type: 'string',
  enum: [
    'stop',
    'max_iterations',
    'repeated_calls',
    'timeout',
    'budget',
    'length',
    'content_filter',
    'error',
    'cancelled',
  ],
} as const

/** The validation gate's decisions. */
export const GATE = {
  type: 'array',
  description: 'Tools that the model was not offered, or is known to fail with; absent if there are none.',
  items: {
    type: 'object',
    properties: {
      tool: { type: 'string' },
      decision: { type: 'string', enum: ['warn', 'hide'] },
      trials: { type: 'integer' },
      successes: { type: 'integer' },
      rate: { type: 'number' },
      lower_bound: { type: 'number' },
      threshold: { type: 'number' },
    },
  },
} as const

const MAX_TEXT_LENGTH = 200_000
const MAX_MESSAGES = 200
const MAX_ENTRIES = 100

const TEXT = { type: 'string', maxLength: MAX_TEXT_LENGTH } as const

/** The body of `POST /chat`. */
const CHAT_SCHEMA = {
  type: 'object',
  required: ['message'],
  additionalProperties: false,
  properties: {
    message: { ...TEXT, description: 'The question.' },
    previous_messages: {
      type: 'array',
      maxItems: MAX_MESSAGES,
      description: 'What was said before, the oldest first.',
      items: {
        type: 'object',
        required: ['role', 'content'],
        additionalProperties: false,
        properties: { role: { enum: ['user', 'assistant'] }, content: TEXT },
      },
    },
    profile: {
      type: 'object',
      maxProperties: MAX_ENTRIES,
      description: 'Facts about the user (intent, service, topic, …) that the response rules match on.',
    },
    session_id: { type: 'string', minLength: 1, maxLength: 200, description: 'What the calls are counted by.' },
    tool_name: { type: 'string', minLength: 1, maxLength: 200, description: 'Runs first; the answer builds on it.' },
    tool_params: { description: 'Its parameters.' },
  },
} as const

/** The body of `POST /api/tools/test`. The route itself reports missing fields. */
const TEST_SCHEMA = {
  type: 'object',
  properties: {
    query: { type: 'string', maxLength: MAX_TEXT_LENGTH },
    model: { type: 'string', maxLength: 300, description: 'provider:model' },
  },
} as const

const CALL = {
  type: 'object',
  additionalProperties: true,
  properties: {
    tool: { type: 'string' },
    params: { description: 'What the model sent; the raw text where it was no JSON.' },
    result: { description: 'The whole envelope.' },
    iteration: { type: 'integer', description: '0 where the tool ran before the model was asked.' },
  },
} as const

/** An answer. */
const ANSWER_SCHEMA = {
  type: 'object',
  additionalProperties: true,
  properties: {
    content: { type: 'string' },
    service: { type: 'string' },
    model: { type: 'string' },
    tool_calls: { type: 'array', items: CALL },
    stop_reason: STOP_REASON,
    gate: GATE,
    run_id: { type: 'string', description: 'Where the run can be looked at: GET /api/runs/{id}.' },
  },
} as const

/** Answers a question over HTTP: with the whole answer, or with everything that happens on the way to it. */
async function answerChat(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: Omit<ChatRequest, 'context'>,
  session?: string,
): Promise<unknown> {
  const run = new ClientRun(app, request, reply, session)
  try {
    const chat = await app.installation.manager.getChat()
    const question = { ...asked, context: run.context }
    if (acceptsEvents(request)) {
      return await streamRun(app, reply, chat.run(question), writerOf(app.installation, run.id))
    }
    return { ...(await chat.answer(question)), run_id: run.id }
  } catch (error) {
    if (error instanceof ToolRefusedError) return refuse(reply, error, run)
    throw problemOf(error)
  } finally {
    run.done()
  }
}

/** Each event under its name; the answer, which is the last, as it would be without a stream. */
const writerOf =
  (installation: Installation, runId: string) =>
  (stream: EventStream): RunWriter => ({
    write(event) {
      if (event.type === 'answer') return stream.send('answer', { ...event.answer, run_id: runId })
      const { type, ...data } = event
      return stream.send(type, data)
    },
    fail: (error) => stream.send('error', late(installation, error)),
  })

/** What went wrong after the stream was opened. */
function late({ log }: Installation, error: unknown): unknown {
  if (error instanceof ToolRefusedError) return error.result
  const problem = problemOf(error)
  if (problem instanceof HttpProblem) return problem
  writeLog(log, 'error', { err: error }, 'Streaming a run failed')
  return new HttpProblem(500, 'Internal server error')
}

/** Status and envelope of `/tools/execute`. */
function refuse(reply: FastifyReply, { result }: ToolRefusedError, { waitMs }: ClientRun): FastifyReply {
  if (result.error_code === 'RATE_LIMITED') reply.header('retry-after', Math.max(1, Math.ceil(waitMs / 1_000)))
  return reply.code(TOOL_ERRORS[result.error_code].status).send(result)
}

function problemOf(error: unknown): unknown {
  if (error instanceof NoResponseRuleError || error instanceof UnknownModelError) {
    return new HttpProblem(400, error.message)
  }
  return error
}

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
export function chatRoutes(app: FastifyInstance): void {
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
        throw new HttpProblem(400, 'tool_params needs a tool_name', 'it says which tool to call')
      }
      return answerChat(app, request, reply, asked, session_id)
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
      return answerChat(app, request, reply, { message: query, model })
    },
  )
}
