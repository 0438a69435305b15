import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ChatQuestion } from '../../app/durable/durable-run-data.ts'
import { StartedBefore } from '../../app/durable/durable-runs.ts'
import type { Installation } from '../../app/installation.ts'
import { type ChatRequest, RefusedMediaError, ToolRefusedError } from '../../chat/chat.ts'
import { NoResponseRuleError, type Profile } from '../../chat/response-rules.ts'
import type { RunAnswer, RunEvent, RunRequest } from '../../chat/run.ts'
import { writeLog } from '../../core/log.ts'
import { TOOL_ERRORS } from '../../core/tool-result.ts'
import type { Message } from '../../models/model.ts'
import { UnknownModelError } from '../../models/model-error.ts'
import { contextOfRequest } from '../http/context.ts'
import { acceptsEvents, type EventStream } from '../http/event-stream.ts'
import { HttpProblem, waitSeconds } from '../http/problem.ts'
import { COUNT, list, object, RESPOND_ASYNC, route, TEXT } from '../http/route.ts'
import { ClientRun, type RunWriter, streamRun } from './client-run.ts'
import { answerStarted, START_HEADERS, startedBefore, startOf } from './durable-run-routes.ts'

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
    'approval_required',
  ],
} as const

/** The decisions of the validation gate. */
export const GATE = list(
  {
    tool: TEXT,
    decision: { type: 'string', enum: ['warn', 'hide'] },
    trials: COUNT,
    successes: COUNT,
    rate: { type: 'number' },
    lower_bound: { type: 'number' },
    threshold: { type: 'number' },
  },
  'Tools that the model often fails with: not offered, or offered with a warning. Absent if there are none.',
)

export const MAX_TEXT_LENGTH = 200_000
const MAX_MESSAGES = 200
const MAX_ENTRIES = 100
const MAX_TOOLS = 1_000
const MAX_MOCKED = 100

const LONG_TEXT = { type: 'string', maxLength: MAX_TEXT_LENGTH } as const

export const PROFILE = {
  type: 'object',
  maxProperties: MAX_ENTRIES,
  description: 'Facts about the user (intent, service, topic, …) that the response rules match on.',
} as const

const PREVIOUS_MESSAGES = {
  type: 'array',
  maxItems: MAX_MESSAGES,
  description: 'Earlier messages, oldest first.',
  items: {
    type: 'object',
    required: ['content'],
    additionalProperties: false,
    properties: { role: { enum: ['user', 'assistant'], default: 'user' }, content: LONG_TEXT },
  },
} as const

/** The body of `POST /chat`. */
const CHAT_SCHEMA = {
  type: 'object',
  required: ['message'],
  additionalProperties: false,
  properties: {
    message: { ...LONG_TEXT, description: 'The question.' },
    previous_messages: PREVIOUS_MESSAGES,
    profile: PROFILE,
    session_id: {
      type: 'string',
      minLength: 1,
      maxLength: 200,
      description: 'The session for rate limits per session.',
    },
    tool_name: {
      type: 'string',
      minLength: 1,
      maxLength: 200,
      description: 'A tool that runs before the model answers. Needs the scope `call`, too.',
    },
    tool_params: { description: 'The parameters of `tool_name`.' },
    durable: {
      type: 'boolean',
      description: 'Stores every step before the run continues, so that the run survives a crash. Default: false.',
    },
  },
} as const

/** The body of `POST /api/tools/test`. The route itself reports missing fields. */
const TEST_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    query: { type: 'string', maxLength: MAX_TEXT_LENGTH },
    model: { type: 'string', maxLength: 300, description: 'provider:model' },
    previous_messages: PREVIOUS_MESSAGES,
    tools: {
      type: 'array',
      maxItems: MAX_TOOLS,
      items: { type: 'string', minLength: 1, maxLength: 200 },
      description: 'The tools that the model is offered. Default: all.',
    },
    ask_writes: {
      type: 'boolean',
      description: 'Calls of `write` tools wait for approval, even of tools that need none. Default: false.',
    },
    mock: {
      type: 'boolean',
      description: 'No tool runs: each call gets its result from `mock_results`, or `{"ok": true}`. Default: false.',
    },
    mock_results: { type: 'object', maxProperties: MAX_ENTRIES, description: 'Results of calls, by tool.' },
  },
} as const

const ANSWER_SCHEMA = {
  ...object({
    content: TEXT,
    service: TEXT,
    model: TEXT,
    tool_calls: list({
      tool: TEXT,
      params: { description: 'The parameters from the model; the raw text if it is not JSON.' },
      result: { description: 'The result envelope.' },
      iteration: { ...COUNT, description: '0 if the tool ran before the model was asked.' },
    }),
    stop_reason: STOP_REASON,
    gate: GATE,
    run_id: { type: 'string', description: 'The recorded run: GET /api/runs/{id}.' },
  }),
  additionalProperties: true,
}

interface AnswerOptions {
  /** For rate limits per session. */
  readonly session?: string | undefined
  /** The question of a stored chat. */
  readonly chat?: ChatQuestion
  readonly durable?: boolean | undefined
  /** The status of a failed provider. */
  readonly failed?: number
  /** Streams in another format, whatever the request accepts. */
  readonly writer?: (runId: string) => (stream: EventStream) => RunWriter
  /** Results of tools that don't run. */
  readonly mocks?: Readonly<Record<string, unknown>> | undefined
}

/** Answers a question, as one response or as a stream of events. */
export async function answerChat(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: Omit<ChatRequest, 'context'>,
  { session, chat: place, durable = false, failed, writer, mocks }: AnswerOptions = {},
): Promise<unknown> {
  const start = durable ? startOf(request, asked) : undefined
  const run = new ClientRun(app, request, reply, { session, id: start?.id })
  try {
    const chat = await app.installation.manager.getChat()
    const { durableRuns } = app.installation
    const before = start && (await startedBefore(app, request.caller, start))
    if (before !== undefined) return answerStarted(reply, run.id, before.run.status, before.answer)
    const options = {
      ...(place && { chat: place }),
      ...(start?.fingerprint !== undefined && { fingerprint: start.fingerprint }),
    }
    const mocked = mocks && (await mockLoop(app, run, asked, mocks))
    const through = mocked
      ? (run: RunRequest) => mocked.run({ ...run, mocked: true })
      : durable
        ? (run: RunRequest) => durableRuns.run(run, options, start?.async)
        : (run: RunRequest) => durableRuns.pausing(run, options)
    // The requested call runs before the run is stored: a repeated request must not run it again.
    const key = start?.id === undefined ? {} : { idempotencyKey: `run ${start.id} call 0.0` }
    const question = { ...asked, context: { ...run.context, ...key }, through }
    if (start?.async) {
      await Array.fromAsync(chat.run(question))
      return answerStarted(reply, run.id)
    }
    const events = acceptsEvents(request) ? writerOf(app.installation, run.id, failed) : undefined
    const write = writer?.(run.id) ?? events
    if (write !== undefined) {
      const judge = (early: RunEvent) => void (early.type === 'answer' && givenAnswer(early.answer, run.id, failed))
      return await streamRun(app, reply, chat.run(question), write, judge)
    }
    return givenAnswer(await chat.answer(question), run.id, failed)
  } catch (error) {
    if (error instanceof ToolRefusedError) return refuse(reply, error, run)
    // By another request with the same key, at the same time.
    const before = start && error instanceof StartedBefore ? await startedBefore(app, request.caller, start) : undefined
    if (before !== undefined) return answerStarted(reply, run.id, before.run.status, before.answer)
    throw chatProblem(error)
  } finally {
    run.done()
  }
}

/** A loop with mock tools, which are made for this run. */
async function mockLoop(
  { installation: { manager } }: FastifyInstance,
  run: ClientRun,
  asked: Pick<ChatRequest, 'allowed_tools'>,
  mocks: object,
) {
  const { tools } = manager.getDiscovery().offers.to(run.context, asked.allowed_tools)
  if (tools.length > MAX_MOCKED) {
    throw new HttpProblem(400, `At most ${MAX_MOCKED} tools can be mocked, not ${tools.length}: choose some of them`)
  }
  return manager.getMockLoop(tools, { ...mocks })
}

/** Throws if a tool does not exist for the caller. */
function refuseUnknown(app: FastifyInstance, request: FastifyRequest, names: readonly string[]): void {
  const { manager } = app.installation
  const { names: known } = manager.getDiscovery().offers.to(contextOfRequest(request, app.installation, 'rest'), names)
  const unknown = names.find((name) => !known.has(name.split('@', 1)[0] as string))
  if (unknown !== undefined) throw new HttpProblem(400, `Tool '${unknown}' not found: choose another one`)
}

/** A run that ended because the provider failed. The client also learns which tools were called. */
class RunFailure extends HttpProblem {
  readonly #answer: object

  constructor(status: number, { error, retry_after_ms, ...answer }: RunAnswer, runId: string) {
    const wait = retry_after_ms === undefined ? {} : { 'retry-after': waitSeconds(retry_after_ms) }
    super(status, status === 429 ? 'A budget is spent' : 'The model failed', error, wait)
    this.#answer = { ...answer, run_id: runId }
  }

  override toJSON(): object {
    return { ...this.#answer, ...super.toJSON() }
  }
}

/** The body of the answer. Throws if the provider failed, with `status` or the one of the failure. */
function givenAnswer(answer: RunAnswer, run_id: string, status?: number): object {
  const { error_status: failed } = answer
  if (failed !== undefined) throw new RunFailure(failed === 429 ? failed : (status ?? failed), answer, run_id)
  return { ...answer, run_id }
}

/** Sends each event under its name. The last one is the answer, as it would be without a stream. */
const writerOf =
  (installation: Installation, runId: string, failed?: number) =>
  (stream: EventStream): RunWriter => ({
    async write(event) {
      if (event.type === 'answer') return stream.send('answer', givenAnswer(event.answer, runId, failed))
      const { type, ...data } = event
      return stream.send(type, data)
    },
    fail: (error) => stream.send('error', late(installation, error)),
  })

/** The error event of a stream. */
function late({ log }: Installation, error: unknown): unknown {
  if (error instanceof ToolRefusedError) return error.result
  const problem = chatProblem(error)
  if (problem instanceof HttpProblem) return problem
  writeLog(log, 'error', { err: error }, 'Streaming a run failed')
  return new HttpProblem(500, 'Internal server error')
}

/** Answers as `/tools/execute` does. */
function refuse(reply: FastifyReply, { result }: ToolRefusedError, { waitMs }: ClientRun): FastifyReply {
  const wait = result.success ? undefined : result.details?.retry_after_ms
  if (result.error_code === 'RATE_LIMITED') reply.header('retry-after', waitSeconds(wait ?? waitMs))
  return reply.code(TOOL_ERRORS[result.error_code].status).send(result)
}

const REFUSED = [NoResponseRuleError, UnknownModelError, RefusedMediaError]

/** Errors of a question become problems. */
export const chatProblem = (error: unknown): unknown =>
  REFUSED.some((refused) => error instanceof refused) ? new HttpProblem(400, (error as Error).message) : error

interface ChatBody {
  readonly message: string
  readonly previous_messages?: readonly Message[]
  readonly profile?: Profile
  readonly session_id?: string
  readonly tool_name?: string
  readonly tool_params?: unknown
  readonly durable?: boolean
}

interface TestBody {
  readonly query?: string
  readonly model?: string
  readonly previous_messages?: readonly Message[]
  readonly tools?: readonly string[]
  readonly ask_writes?: boolean
  readonly mock?: boolean
  readonly mock_results?: Readonly<Record<string, unknown>>
}

/** Questions to models: chosen by the response rules, or by the request. */
export function chatRoutes(app: FastifyInstance): void {
  app.post<{ Body: ChatBody }>(
    '/chat',
    route(
      'chat',
      'chat',
      'Answers a question with a model that the response rules choose; streams events if the request accepts them',
      {
        body: CHAT_SCHEMA,
        headers: object(START_HEADERS),
        response: { 200: ANSWER_SCHEMA, 202: object({ run_id: TEXT, status: TEXT }, 'A durable run that works') },
      },
    ),
    (request, reply) => {
      const { session_id, durable, ...asked } = request.body
      if (asked.message.trim() === '') throw new HttpProblem(400, 'The message is empty')
      if (asked.tool_params !== undefined && asked.tool_name === undefined) {
        throw new HttpProblem(400, 'tool_params needs a tool_name', 'it says which tool to call')
      }
      if (asked.tool_name !== undefined && !request.caller.scopes.has('call')) {
        throw new HttpProblem(403, "The API key lacks the scope 'call'", 'tool_name calls a tool')
      }
      const isAsync = RESPOND_ASYNC.test(String(request.headers.prefer ?? ''))
      return answerChat(app, request, reply, asked, { session: session_id, durable: durable || isAsync })
    },
  )

  app.post<{ Body: TestBody }>(
    '/api/tools/test',
    route('chat', 'chat', 'Answers a question with a given model and all tools; not counted as a test of the model', {
      body: TEST_SCHEMA,
      response: { 200: ANSWER_SCHEMA },
    }),
    (request, reply) => {
      const { query = '', model = '', tools, mock, mock_results, ...rest } = request.body
      if (query.trim() === '' || model.trim() === '') throw new HttpProblem(400, 'Missing query or model')
      if (mock_results !== undefined && !mock) {
        throw new HttpProblem(400, 'mock_results needs "mock": true', 'without it the tools run')
      }
      refuseUnknown(app, request, [...(tools ?? []), ...Object.keys(mock_results ?? {})])
      const { previous_messages, ask_writes } = rest
      const asked = {
        ...{ message: query, model },
        ...(previous_messages && { previous_messages }),
        ...(tools && { allowed_tools: tools }),
        ...(ask_writes && { ask_writes }),
      }
      return answerChat(app, request, reply, asked, { failed: 500, mocks: mock ? (mock_results ?? {}) : undefined })
    },
  )
}
