import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../config/callers/caller.ts'
import { ToolExecutionError } from '../../core/tool-execution-error.ts'
import type { ToolResult } from '../../core/tool-result.ts'
import { sessionName } from '../caller-of-request.ts'
import { corsHeaders } from '../cors.ts'
import type { Gate } from '../gate.ts'
import { HttpProblem, PROBLEM_TYPE } from '../http-problem.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'
import type { Service } from '../service.ts'
import { acceptsEvents } from '../streams.ts'
import { type AskedCall, readCall, UnreadableCallError, unreadable } from './asked-call.ts'
import { CallerContexts } from './caller-contexts.ts'
import { rateHeaders } from './rate-headers.ts'
import { RestContext } from './rest-context.ts'
import { writeEnvelope } from './write-envelope.ts'

const BODY_BYTES = 1024 * 1024
const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/
const CLOSE = ['connection', 'close']
/** What clients are told to wait where nobody knows better. */
const RETRY_SECONDS = 1

/**
 * `POST /tools/execute`. This is the way that nearly all requests take, so it reads and answers them itself: what
 * Fastify would do in between costs more than the call.
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

  /** Answers a request whose reply has been hijacked. */
  handle(request: FastifyRequest, reply: FastifyReply): void {
    const { raw } = request
    const response = reply.raw
    try {
      this.#gate.checkOrigin(raw.headers)
      const caller = this.#gate.enter(raw.headers, 'call')
      this.#read(raw, response, (text) => this.#answer(text, caller, request, reply))
    } catch (error) {
      if (!(error instanceof HttpProblem)) throw error
      this.#refuse(raw, response, error)
    }
  }

  #read(request: IncomingMessage, response: ServerResponse, then: (text: string) => void): void {
    const limit = this.#service.installation.config.limits?.body_bytes ?? BODY_BYTES
    const tooLong = (): void => {
      request.removeAllListeners('data').removeAllListeners('end').resume()
      this.#write(request, response, unreadable(`the body is larger than ${limit} bytes`), [...CLOSE])
    }
    if (Number(request.headers['content-length']) > limit) return tooLong()
    let body: Buffer | undefined
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > limit) tooLong()
      else body = body === undefined ? chunk : Buffer.concat([body, chunk])
    })
    request.on('end', () => then(body === undefined ? '' : body.toString()))
  }

  #answer(text: string, caller: Caller, request: FastifyRequest, reply: FastifyReply): void {
    const { raw } = request
    const { headers } = raw
    let asked: AskedCall
    try {
      if (!isJson(headers['content-type'])) throw new UnreadableCallError('send the call as application/json')
      asked = readCall(text)
    } catch (error) {
      if (!(error instanceof UnreadableCallError)) throw error
      return this.#write(raw, reply.raw, unreadable(error.message), [])
    }
    const session = asked.session_id ?? headers['x-session-id']
    const context = new RestContext(this.#contexts.of(caller, sessionName(session)))
    if (asked.timeout_ms !== undefined) context.timeoutMs = asked.timeout_ms as number
    const { 'idempotency-key': key, traceparent, accept } = headers
    if (key !== undefined) context.idempotencyKey = key as string
    if (traceparent !== undefined && TRACEPARENT.test(traceparent as string))
      context.traceparent = traceparent as string
    if (accept !== undefined && acceptsEvents(request)) return void this.#stream(asked, context, reply)
    this.#call(asked, context, raw, reply.raw)
  }

  #call(asked: AskedCall, context: RestContext, request: IncomingMessage, response: ServerResponse): void {
    const { traffic } = this.#service
    traffic.calls.add(context.signal)
    response.once('close', () => context.signal.abort(undefined))
    this.#execute(asked, context).then((result) => {
      traffic.calls.delete(context.signal)
      this.#write(request, response, result, this.#more(context, result))
    })
  }

  /** The same with Server-Sent Events: what the tool reports on the way, then the envelope. */
  async #stream(asked: AskedCall, context: RestContext, reply: FastifyReply): Promise<void> {
    const { traffic, streams, installation } = this.#service
    reply.headers({ ...SECURITY_HEADERS, ...corsHeaders(installation, reply.request.headers) })
    const stream = streams.start(reply)
    traffic.calls.add(context.signal)
    stream.signal.addEventListener('abort', () => context.signal.abort(undefined))
    context.report = (progress) => void stream.send('progress', progress)
    const result = await this.#execute(asked, context)
    traffic.calls.delete(context.signal)
    await stream.send('result', result)
    stream.end()
  }

  #execute({ tool_name, params, timeout_ms }: AskedCall, context: RestContext): Promise<ToolResult> {
    const executor = this.#service.installation.manager.getExecutor()
    if (timeout_ms === undefined || typeof timeout_ms === 'number') return executor.execute(tool_name, params, context)
    const reason = new ToolExecutionError('INVALID_PARAMETERS', 'Invalid parameters: timeout_ms must be a number')
    return Promise.resolve(executor.refuse(tool_name, reason, context))
  }

  #more(context: RestContext, result: ToolResult): string[] {
    const more = context.rate === undefined ? [] : rateHeaders(context)
    if (!result.success && (result.error_code === 'RATE_LIMITED' || result.error_code === 'SERVICE_UNAVAILABLE')) {
      const waitMs = context.rateState?.waitMs ?? 0
      more.push('retry-after', String(Math.max(RETRY_SECONDS, Math.ceil(waitMs / 1_000))))
    }
    return more
  }

  #write(request: IncomingMessage, response: ServerResponse, result: ToolResult, more: string[]): void {
    const { installation, traffic } = this.#service
    if (traffic.draining) more.push(...CLOSE)
    if (request.headers.origin !== undefined)
      more.push(...Object.entries(corsHeaders(installation, request.headers)).flat())
    writeEnvelope(response, result, more)
  }

  #refuse(request: IncomingMessage, response: ServerResponse, problem: HttpProblem): void {
    const text = JSON.stringify(problem)
    response.writeHead(problem.status, {
      ...SECURITY_HEADERS,
      ...corsHeaders(this.#service.installation, request.headers),
      ...problem.headers,
      'content-type': PROBLEM_TYPE,
      'content-length': Buffer.byteLength(text),
    })
    response.end(text)
    request.resume()
  }
}

const isJson = (type: string | undefined): boolean =>
  type === 'application/json' || (type !== undefined && /^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i.test(type))
