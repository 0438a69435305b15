import { randomUUID } from 'node:crypto'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ClientToolError } from '../../chat/client-tool-error.ts'
import type { Installation } from '../../config/installation.ts'
import { writeLog } from '../../core/log.ts'
import { UnknownModelError } from '../../models/catalogue/unknown-model-error.ts'
import { corsHeaders } from '../cors.ts'
import { HttpProblem } from '../http-problem.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'
import { OpenAiError } from './openai-error.ts'

const CODES: Readonly<Record<number, string>> = { 401: 'invalid_api_key' }

/** Answers with what went wrong, as OpenAI would. */
export function answerOpenAiError(
  installation: Installation,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const answer = openAiErrorOf(installation, error, request)
  return reply
    .headers({ ...SECURITY_HEADERS, ...corsHeaders(installation, request.headers), ...answer.facts.headers })
    .code(answer.status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(answer))
}

/** The same error in OpenAI's words. Of what nobody foresaw, the client learns no more than that. */
export function openAiErrorOf(installation: Installation, error: unknown, request: FastifyRequest): OpenAiError {
  if (error instanceof OpenAiError) return error
  if (error instanceof UnknownModelError) {
    return new OpenAiError(404, error.message, { param: 'model', code: 'model_not_found' })
  }
  if (error instanceof ClientToolError) return new OpenAiError(400, error.message, { param: 'tools' })
  if (error instanceof HttpProblem) {
    const { status, message, headers } = error
    const code = CODES[status]
    return new OpenAiError(status, message, { headers, ...(code !== undefined && { code }) })
  }
  return foreseen(error as FastifyError) ?? unforeseen(installation, error, request)
}

/** What Fastify refuses by itself: its sentences name nothing but the request. */
function foreseen({ statusCode: status, code, message, validation }: FastifyError): OpenAiError | undefined {
  if (validation !== undefined) {
    const [{ instancePath = '', params = {} } = {}] = validation
    const param = instancePath.split('/')[1] ?? params.missingProperty
    return new OpenAiError(400, `The request is not valid: ${message}`, {
      ...(typeof param === 'string' && { param }),
    })
  }
  if (status === undefined || status < 400 || status >= 500 || !code?.startsWith('FST_')) return undefined
  return new OpenAiError(status, message)
}

function unforeseen({ log }: Installation, err: unknown, { method, routeOptions }: FastifyRequest): OpenAiError {
  const id = randomUUID()
  writeLog(log, 'error', { err, request_id: id, method, path: routeOptions.url }, 'A request could not be answered')
  return new OpenAiError(500, `The request could not be answered: the log has more under request_id ${id}`)
}
