import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { actsForAnother, type Caller } from '../../app/callers/callers.ts'
import type { Installation } from '../../app/installation.ts'
import type { Config } from '../../config/config.ts'
import type { CallContext } from '../../core/call-context.ts'
import { Cancellation } from '../../core/cancellation.ts'
import { RefusedJsonError } from '../../core/json/json-depth.ts'
import type { CallerRate, RateState } from '../../core/rates.ts'
import { isTraceparent } from '../../core/records/tracer.ts'
import { isObject } from '../../core/schema/schema-keywords.ts'
import { TOOL_ERRORS, type ToolFailure, type ToolResult } from '../../core/tool-result.ts'
import { unknownField } from '../../operations/check-input.ts'
import { sessionName } from '../http/context.ts'
import { acceptsEvents } from '../http/event-stream.ts'
import { HttpProblem, waitSeconds } from '../http/problem.ts'
import { RESPOND_ASYNC } from '../http/route.ts'
import { JOB_SCHEMA } from '../jobs/job-routes.ts'

const BODY = {
  type: 'object',
  additionalProperties: false,
  examples: [{ tool_name: 'math_eval', params: { expression: '2+2' } }],
  required: ['tool_name'],
  properties: {
    tool_name: { type: 'string', examples: ['math_eval'] },
    params: { type: 'object', additionalProperties: true, examples: [{ expression: '2+2' }] },
    timeout_ms: { type: 'number', description: 'The timeout of this call, clamped to 1–60 s.' },
    approval_id: {
      type: 'string',
      description: 'Runs the approved call: the id in details.approval of the same call before.',
    },
    session_id: {
      type: 'string',
      minLength: 1,
      description: 'The session for rate limits per session. Alternative: the header X-Session-Id.',
    },
  },
}

/** The types of the fields of a call. The executor checks the parameters. */
const FIELD_TYPES: ReadonlyMap<string, string | undefined> = new Map(
  Object.entries(BODY.properties).map(([name, { type }]) => [name, name === 'params' ? undefined : type]),
)

const HEADERS = {
  type: 'object',
  properties: {
    'idempotency-key': {
      type: 'string',
      description: 'A repeated request with the same key gets the response of the first one.',
    },
    prefer: { type: 'string', description: 'respond-async: the call runs as a background job.' },
    traceparent: { type: 'string', description: 'The W3C trace context of the call.' },
  },
}

const TIME = { type: 'number', description: 'The duration of the call, including validation.' }
const WARNINGS = { type: 'array', items: { type: 'string' }, description: 'Such as that the tool is deprecated.' }
const SUCCESS = {
  description: 'The result. If the request accepts text/event-stream: "progress" events, then one "result" event',
  type: 'object',
  properties: {
    success: { const: true },
    result: {},
    tool_name: { type: 'string' },
    execution_time_ms: TIME,
    warnings: WARNINGS,
  },
}
const FAILURE = {
  type: 'object',
  properties: {
    success: { const: false },
    error: { type: 'string', examples: ["Invalid parameters: missing 'expression'"] },
    error_code: { enum: Object.keys(TOOL_ERRORS) },
    tool_name: { type: 'string' },
    execution_time_ms: TIME,
    details: {
      type: 'object',
      additionalProperties: true,
      description: 'The problems with the parameters, or the approval to wait for.',
    },
    suggestions: { type: 'array', items: { type: 'string' }, description: 'Tools with similar names.' },
    outcome: { const: 'unknown', description: 'The write may have happened.' },
    warnings: WARNINGS,
  },
}

const failures = Object.fromEntries(
  Object.entries(Object.groupBy(Object.entries(TOOL_ERRORS), ([, { status }]) => status)).map(
    ([status, codes = []]) => [status, { ...FAILURE, description: codes.map(([code]) => code).join(' or ') }],
  ),
)

const JSON_TYPE = 'application/json; charset=utf-8'

/** The body of a call. The executor validates the parameters. */
interface CallBody {
  readonly tool_name: string
  readonly params: unknown
  readonly timeout_ms?: number
  readonly approval_id?: string
  readonly session_id?: string
}

/** `POST /tools/execute`: runs a tool and answers with its envelope, with events, or with a job. */
export function executeRoute(app: FastifyInstance): void {
  const { installation, traffic, streams } = app
  const contexts = new CallerContexts(installation)

  app.post(
    '/tools/execute',
    {
      // `traffic.calls` and `streams` already count the request.
      config: { scope: 'call', stays: true, actsFor: true },
      schema: {
        summary: 'Calls a tool',
        tags: ['tools'],
        headers: HEADERS,
        body: BODY,
        response: {
          200: SUCCESS,
          202: { ...JOB_SCHEMA, description: 'The job, for Prefer: respond-async' },
          ...failures,
        },
      },
      // The schema is documentation: the handler checks the body and answers with an envelope.
      validatorCompiler: () => () => true,
      errorHandler: (error, request, reply) => {
        const problem = bodyProblem(error, request)
        if (problem === undefined) throw error
        reply.send(envelope(reply, unreadable(problem)))
      },
    },
    async (request, reply) => {
      const { headers, caller, body } = request
      const problem = callProblem(body)
      if (problem !== undefined) return envelope(reply, unreadable(problem, body))
      const { tool_name, params, timeout_ms, approval_id, session_id } = body as CallBody
      const session = sessionName(session_id ?? headers['x-session-id'])
      const context = new RestContext(contexts.of(caller, session))
      const { 'idempotency-key': key, traceparent, prefer } = headers
      if (key !== undefined) context.idempotencyKey = key as string
      if (isTraceparent(traceparent)) context.traceparent = traceparent
      if (timeout_ms !== undefined) context.timeoutMs = timeout_ms
      if (approval_id !== undefined) context.approvalId = approval_id
      if (prefer !== undefined && RESPOND_ASYNC.test(String(prefer))) {
        return startJob(app, request, reply, context, session)
      }
      const stream = acceptsEvents(request) ? streams.start(reply) : undefined
      if (stream !== undefined) context.report = (progress) => void stream.send('progress', progress)
      const { signal } = context
      const end = traffic.begin(signal, caller.id)
      reply.raw.on('close', () => signal.abort(undefined))
      const running = installation.manager.getExecutor().execute(tool_name, params, context)
      const result = await running.finally(end)
      if (stream === undefined) return envelope(reply, result, context)
      await stream.send('result', result)
      stream.end()
      return reply
    },
  )
}

/** Starts the call as a job. The response has the URL of the result. */
async function startJob(
  { jobs }: FastifyInstance,
  { body, caller }: FastifyRequest,
  reply: FastifyReply,
  context: RestContext,
  session: string | undefined,
): Promise<string | object> {
  if (actsForAnother(caller)) {
    throw new HttpProblem(400, 'The header Toolyard-User is refused', 'jobs run for their API key only')
  }
  const { tool_name, params } = body as CallBody
  const { timeoutMs, idempotencyKey, approvalId, traceparent } = context
  const started = await jobs.start(caller, {
    tool_name,
    params,
    timeout_ms: timeoutMs,
    session,
    idempotencyKey,
    approvalId,
    traceparent,
    onRate: (state, rate) => context.onRate(state, rate),
  })
  if ('refused' in started) return envelope(reply, started.refused, context)
  const { job } = started
  reply
    .code(202)
    .headers({ location: `/api/jobs/${job.id}`, 'preference-applied': 'respond-async', ...rateHeaders(context) })
  return job
}

/**
 * Sets status and headers, and returns the body. The handler returns text: a returned `reply` would be awaited through
 * stream listeners, and an object would need a serializer.
 */
function envelope(reply: FastifyReply, result: ToolResult, context?: RestContext): string {
  reply.header('content-type', JSON_TYPE)
  reply.code(result.success ? 200 : TOOL_ERRORS[result.error_code].status)
  reply.headers(rateHeaders(context))
  if (!result.success) {
    if (result.error_code === 'RATE_LIMITED')
      reply.header('retry-after', waitSeconds(result.details?.retry_after_ms ?? context?.rateState?.waitMs))
    else if (result.error_code === 'SERVICE_UNAVAILABLE') reply.header('retry-after', waitSeconds())
  }
  return JSON.stringify(result)
}

function rateHeaders(context?: RestContext): Record<string, string> {
  const { rate, rateState } = context ?? {}
  if (rate === undefined || rateState === undefined) return {}
  const { waitMs, remaining } = rateState
  return {
    'ratelimit-limit': String(rate.calls),
    'ratelimit-remaining': String(remaining),
    // The window slides: while calls remain, all of them are free again after one whole window at the latest.
    'ratelimit-reset': String(Math.ceil((waitMs > 0 ? waitMs : rate.perMs) / 1_000)),
  }
}

/** The problem with a parsed body; undefined if it is a valid call. */
function callProblem(body: unknown): string | undefined {
  if (!isObject(body)) {
    return body === undefined ? 'the body is not JSON' : 'the body must be one JSON object {"tool_name", "params"}'
  }
  const { tool_name, session_id } = body as Readonly<Record<string, unknown>>
  if (tool_name === undefined) return "missing 'tool_name'"
  const other = 'params' in body ? undefined : ['parameters', 'arguments', 'args', 'input'].find((name) => name in body)
  if (other !== undefined) return `send the parameters as 'params', not as '${other}'`
  for (const [name, value] of Object.entries(body)) {
    if (!FIELD_TYPES.has(name)) return unknownField(name, [...FIELD_TYPES.keys()])
    const type = FIELD_TYPES.get(name)
    if (type !== undefined && typeof value !== type) return `${name} must be a ${type}`
  }
  return session_id === '' ? 'session_id must not be empty' : undefined
}

/** The problem with a body that could not be parsed; undefined for any other error. */
function bodyProblem(error: Partial<FastifyError>, { routeOptions }: FastifyRequest): string | undefined {
  if (error instanceof RefusedJsonError) return `the body ${error.message}`
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return `the body is larger than ${routeOptions.bodyLimit} bytes`
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return 'send the call as application/json'
  return error.code?.startsWith('FST_ERR_CTP_') ? 'the body is not JSON' : undefined
}

/** The envelope of a request that isn't a call. */
function unreadable(problem: string, body?: unknown): ToolFailure {
  const { tool_name } = (body ?? {}) as { tool_name?: unknown }
  return {
    success: false,
    error: `Invalid parameters: ${problem}`,
    error_code: 'INVALID_PARAMETERS',
    tool_name: typeof tool_name === 'string' ? tool_name : '',
    execution_time_ms: 0,
  }
}

type Of<Name extends keyof CallContext> = NonNullable<CallContext[Name]>

/** The context of one call: that of its caller, the request's additions, and the state of the caller's rate limit. */
class RestContext implements CallContext {
  readonly source = 'rest'
  readonly tenant: Of<'tenant'>
  readonly caller: Of<'caller'>
  readonly keyId: CallContext['keyId']
  readonly user: CallContext['user']
  readonly flags: Of<'flags'>
  readonly tools: CallContext['tools']
  session?: string
  readonly models: CallContext['models']
  rates?: readonly CallerRate[]
  /** Aborted when the client disconnects or the server shuts down. */
  readonly signal = new Cancellation()
  timeoutMs?: number
  idempotencyKey?: string
  approvalId?: string
  traceparent?: string
  report?: (progress: unknown) => void
  // Not keys of a context: a call refuses those that it doesn't know.
  #rate: CallerRate | undefined = undefined
  #rateState: RateState | undefined = undefined

  constructor(ofCaller: CallContext) {
    this.tenant = ofCaller.tenant as string
    this.caller = ofCaller.caller as string
    this.keyId = ofCaller.keyId
    this.user = ofCaller.user
    this.flags = ofCaller.flags as Of<'flags'>
    this.tools = ofCaller.tools
    this.models = ofCaller.models
    if (ofCaller.rates !== undefined) this.rates = ofCaller.rates
    if (ofCaller.session !== undefined) this.session = ofCaller.session
  }

  get rate(): CallerRate | undefined {
    return this.#rate
  }

  get rateState(): RateState | undefined {
    return this.#rateState
  }

  onRate(state: RateState, rate: CallerRate): void {
    this.#rateState = state
    this.#rate = rate
  }
}

/** Caches the context of each caller until its flags or the configuration change. */
class CallerContexts {
  readonly #installation: Installation
  readonly #known = new WeakMap<Caller, { readonly context: CallContext; readonly config: Config }>()

  constructor(installation: Installation) {
    this.#installation = installation
  }

  of(caller: Caller, session: string | undefined): CallContext {
    const { callers, tenants, config } = this.#installation
    if (session !== undefined) return callers.context(caller, 'rest', session)
    const known = this.#known.get(caller)
    if (known !== undefined && known.config === config && known.context.flags === tenants.flags(caller.tenant)) {
      return known.context
    }
    const context = callers.context(caller, 'rest')
    this.#known.set(caller, { context, config })
    return context
  }
}
