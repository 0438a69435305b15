import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Installation } from '../../app/installation.ts'
import { RefusedJsonError } from '../../core/json/json-depth.ts'
import { writeLog } from '../../core/log.ts'
import { INVALID, OPERATION_ERRORS, OperationError } from '../../core/operation/operation-error.ts'
import { TOOL_ERRORS, ToolExecutionError } from '../../core/tool-result.ts'
import { ModelValidationError } from '../../validation/model-validation.ts'
import { SECURITY_HEADERS } from './response-headers.ts'

/** Errors before there is a request, by the code of Node's parser. */
const STATUS: Readonly<Record<string, readonly [status: number, title: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The body is too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request took too long to arrive'],
}

/** Answers bytes that aren't a valid request, and closes the connection. */
export function answerClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, title] = STATUS[error.code ?? ''] ?? [400, 'The request could not be read']
  const body = JSON.stringify(new HttpProblem(status, title))
  const headers = {
    ...SECURITY_HEADERS,
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}

interface Asked {
  readonly method?: string | undefined
  readonly url?: string | undefined
}

/** Converts any error to a problem. An unexpected error is logged, and the client sees its request_id only. */
export const problemOf = (installation: Installation, error: unknown, request: Asked): HttpProblem =>
  (error instanceof Error ? expectedProblem(error) : undefined) ?? unexpectedProblem(installation, error, request)

/** As `http-errors` marks messages for clients. */
interface Exposed {
  readonly expose: boolean
}

/** Errors whose messages are meant for clients: our own, and 4xx errors of Fastify and its static files. */
function expectedProblem(error: Error): HttpProblem | undefined {
  if (error instanceof HttpProblem) return error
  if (error instanceof ToolExecutionError && error.code !== 'EXECUTION_ERROR') {
    return new HttpProblem(TOOL_ERRORS[error.code].status, error.message)
  }
  if (error instanceof OperationError) {
    const headers = error.code === 'unauthorized' ? { 'www-authenticate': 'Bearer' } : {}
    return new HttpProblem(OPERATION_ERRORS[error.code], error.message, error.hint, headers)
  }
  if (error instanceof ModelValidationError) return new HttpProblem(400, error.message)
  if (error instanceof RefusedJsonError) return new HttpProblem(400, `The body ${error.message}`)
  const { statusCode: status, code, message, validation, expose } = error as Partial<FastifyError & Exposed> & Error
  if (validation !== undefined) return new HttpProblem(400, INVALID, message)
  // Fastify gives this status to an error of the request stream.
  if (status === 400 && code === 'ECONNRESET') return new HttpProblem(400, 'The client closed the connection')
  if (status === undefined || status < 400 || status >= 500) return undefined
  if (!code?.startsWith('FST_') && expose !== true) return undefined
  return new HttpProblem(status, message)
}

function unexpectedProblem({ log }: Installation, err: unknown, { method, url }: Asked): HttpProblem {
  const id = randomUUID()
  const path = url?.split('?', 1)[0]
  writeLog(log, 'error', { err, request_id: id, method, path }, 'Request failed')
  return new HttpProblem(500, 'Internal server error', `see the server log for request_id ${id}`)
}

/** An error response as problem+json. */
export class HttpProblem extends Error {
  readonly status: number
  readonly title: string
  readonly detail: string | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, title: string, detail?: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail === undefined ? title : `${title}: ${detail}`)
    this.name = 'HttpProblem'
    this.status = status
    this.title = title
    this.detail = detail
    this.headers = headers
  }

  toJSON(): object {
    const { title, status, detail, message } = this
    return { type: 'about:blank', title, status, ...(detail !== undefined && { detail }), error: message }
  }
}

/** The value of Retry-After: whole seconds, at least one. */
export const waitSeconds = (waitMs = 0): string => String(Math.max(1, Math.ceil(waitMs / 1_000)))

/** The value; throws 404 if there is none. */
export function found<T>(value: T | undefined, what: string, hint?: string): T {
  if (value === undefined) throw new HttpProblem(404, `${what} not found`, hint)
  return value
}

export const PROBLEM_TYPE = 'application/problem+json'

export function answerProblem(
  installation: Installation,
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const problem = problemOf(installation, error, request)
  return reply.headers(problem.headers).code(problem.status).type(PROBLEM_TYPE).send(JSON.stringify(problem))
}
