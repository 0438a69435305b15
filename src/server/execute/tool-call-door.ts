import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../../config/callers/caller.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import { isTraceparent } from '../../core/traceparent.ts'
import { sessionName } from '../caller-of-request.ts'
import { corsHeaders } from '../cors.ts'
import type { Gate } from '../gate.ts'
import { PROBLEM_TYPE } from '../http-problem.ts'
import { problemOf } from '../problem-of.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'
import type { Service } from '../service.ts'
import { acceptsEvents } from '../streams.ts'
import { type AskedCall, readCall, UnreadableCallError, unreadable } from './asked-call.ts'
import { CallerContexts } from './caller-contexts.ts'
import { rateHeaders, retryAfter } from './rate-headers.ts'
import { RestContext } from './rest-context.ts'
import type { TextRequest } from './text-request.ts'
import { writeEnvelope, writeJson } from './write-envelope.ts'

const BODY_BYTES = 1024 * 1024
const RESPOND_ASYNC = /(?:^|,)\s*respond-async\s*(?:[;,]|$)/i

/**
 * `POST /tools/execute`. This is the way that nearly all requests take, so it reads and answers them itself: what a
 * framework would do in between costs more than the call.
 */
export class ToolCallDoor {
  readonly #service: Service
  readonly #gate: Gate
  readonly #contexts: CallerContexts

  constructor(service: Service, gate: Gate) {
    this.#service = service
    this.#gate = gate
    this.#contexts = new CallerContexts(service.installation)
  }

  /** Answers a request. */
  handle(request: TextRequest, response: ServerResponse): void {
    try {
      const { headers } = request
      this.#gate.checkOrigin(headers)
      const caller = this.#gate.enter(request, 'call')
      const limit = this.#service.installation.config.limits?.body_bytes ?? BODY_BYTES
      request.readText(limit, (text) => {
        try {
          if (text === undefined) throw new UnreadableCallError(`the body is larger than ${limit} bytes`)
          this.#answer(text, caller, request, response)
        } catch (error) {
          this.#refuse(request, response, error)
        }
      })
    } catch (error) {
      this.#refuse(request, response, error)
    }
  }

  #answer(text: string, caller: Caller, request: IncomingMessage, response: ServerResponse): void {
    const { headers } = request
    if (!isJson(headers['content-type'])) throw new UnreadableCallError('send the call as application/json')
    const asked = readCall(text)
    const session = sessionName(asked.session_id ?? headers['x-session-id'])
    const context = new RestContext(this.#contexts.of(caller, session))
    const { 'idempotency-key': key, traceparent, accept, prefer } = headers
    if (key !== undefined) context.idempotencyKey = key as string
    if (isTraceparent(traceparent)) context.traceparent = traceparent
    if (asked.timeout_ms !== undefined) context.timeoutMs = asked.timeout_ms
    if (prefer !== undefined && RESPOND_ASYNC.test(String(prefer))) {
      void this.#start(asked, context, caller, session, request, response)
    } else if (accept !== undefined && acceptsEvents(request)) {
      void this.#stream(asked, context, request, response)
    } else {
      this.#call(asked, context, request, response)
    }
  }

  #call(
    { tool_name, params }: AskedCall,
    context: RestContext,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const { traffic, installation } = this.#service
    const { signal } = context
    traffic.calls.add(signal)
    response.on('close', () => signal.abort(undefined))
    installation.manager
      .getExecutor()
      .execute(tool_name, params, context)
      .then((result) => {
        traffic.calls.delete(signal)
        writeEnvelope(response, result, this.#more(request, response, context, result))
      })
  }

  /** The same with Server-Sent Events: what the tool reports on the way, then the envelope. */
  async #stream(
    { tool_name, params }: AskedCall,
    context: RestContext,
    { headers }: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { traffic, streams, installation } = this.#service
    const { signal } = context
    const stream = streams.over(response, { ...SECURITY_HEADERS, ...corsHeaders(installation, headers) })
    traffic.calls.add(signal)
    stream.signal.addEventListener('abort', () => signal.abort(undefined))
    context.report = (progress) => void stream.send('progress', progress)
    const result = await installation.manager.getExecutor().execute(tool_name, params, context)
    traffic.calls.delete(signal)
    await stream.send('result', result)
    stream.end()
  }

  /** The same in the background: the answer says where it can be had later. */
  async #start(
    { tool_name, params }: AskedCall,
    context: RestContext,
    caller: Caller,
    session: string | undefined,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { timeoutMs, idempotencyKey, traceparent } = context
    try {
      const started = await this.#service.jobs.start(caller, {
        tool_name,
        params,
        onRate: (state, rate) => context.onRate(state, rate),
        ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
        ...(session !== undefined && { session }),
        ...(idempotencyKey !== undefined && { idempotencyKey }),
        ...(traceparent !== undefined && { traceparent }),
      })
      if ('refused' in started) {
        writeEnvelope(response, started.refused, this.#more(request, response, context, started.refused))
        return
      }
      const { job } = started
      const where = ['location', `/api/jobs/${job.id}`, 'preference-applied', 'respond-async']
      writeJson(response, 202, job, [...where, ...this.#more(request, response, context)])
    } catch (error) {
      this.#refuse(request, response, error)
    }
  }

  /** The headers that are not always the same, names and values in turn. */
  #more({ headers }: IncomingMessage, response: ServerResponse, context?: RestContext, result?: ToolResult): string[] {
    const { installation, traffic } = this.#service
    if (traffic.draining) response.shouldKeepAlive = false
    const rate = context?.rate
    const state = context?.rateState
    const more = rate === undefined || state === undefined ? [] : rateHeaders(rate, state)
    if (result?.success === false) more.push(...retryAfter(result, context))
    if (headers.origin !== undefined) more.push(...Object.entries(corsHeaders(installation, headers)).flat())
    return more
  }

  #refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    const { installation } = this.#service
    if (response.headersSent) {
      response.destroy()
      return
    }
    if (error instanceof UnreadableCallError) {
      writeEnvelope(response, unreadable(error), this.#more(request, response))
      return
    }
    const problem = problemOf(installation, error, request)
    const text = JSON.stringify(problem)
    response.writeHead(problem.status, {
      ...SECURITY_HEADERS,
      ...corsHeaders(installation, request.headers),
      ...problem.headers,
      'content-type': PROBLEM_TYPE,
      'content-length': Buffer.byteLength(text),
    })
    response.end(text)
  }
}

const isJson = (type: string | undefined): boolean =>
  type === 'application/json' || (type !== undefined && /^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i.test(type))
