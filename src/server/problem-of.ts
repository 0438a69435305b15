import { randomUUID } from 'node:crypto'
import type { FastifyError } from 'fastify'
import type { Installation } from '../config/installation.ts'
import { DeepJsonError } from '../core/json-depth.ts'
import { writeLog } from '../core/log.ts'
import { LIMITS } from '../core/snapshot.ts'
import { TOOL_ERRORS } from '../core/tool-error-code.ts'
import { ToolExecutionError } from '../core/tool-execution-error.ts'
import { ModelValidationError } from '../validation/model-validation-error.ts'
import { HttpProblem } from './http-problem.ts'

/** What is said of a request in the log. */
interface Asked {
  readonly method?: string | undefined
  readonly url?: string | undefined
}

/** What a client is told of an error. Of what nobody foresaw, it learns no more than that; the log has the rest. */
export const problemOf = (installation: Installation, error: unknown, request: Asked): HttpProblem =>
  (error instanceof Error ? foreseen(error) : undefined) ?? unforeseen(installation, error, request)

/** Errors whose sentences are meant for clients: our own, and those by which Fastify refuses a request. */
function foreseen(error: Error): HttpProblem | undefined {
  if (error instanceof HttpProblem) return error
  if (error instanceof ToolExecutionError && error.code !== 'EXECUTION_ERROR') {
    return new HttpProblem(TOOL_ERRORS[error.code].status, error.message)
  }
  if (error instanceof ModelValidationError) return new HttpProblem(400, error.message)
  if (error instanceof DeepJsonError) {
    return new HttpProblem(400, 'The body is nested too deeply', `it may have at most ${LIMITS.bodyDepth} levels`)
  }
  const { statusCode: status, code, message, validation } = error as Partial<FastifyError> & Error
  if (validation !== undefined) return new HttpProblem(400, 'The request is not valid', message)
  // Fastify gives this status to an error of the request stream.
  if (status === 400 && code === 'ECONNRESET') return new HttpProblem(400, 'The client closed the connection')
  if (status === undefined || status < 400 || status >= 500 || !code?.startsWith('FST_')) return undefined
  return new HttpProblem(status, message)
}

function unforeseen({ log }: Installation, err: unknown, { method, url }: Asked): HttpProblem {
  const id = randomUUID()
  const path = url?.split('?', 1)[0]
  writeLog(log, 'error', { err, request_id: id, method, path }, 'A request could not be answered')
  return new HttpProblem(500, 'The request could not be answered', `the log has more under request_id ${id}`)
}
