import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ClientToolError } from '../../chat/client-tool-error.ts'
import type { Installation } from '../../config/installation.ts'
import { UnknownModelError } from '../../models/catalogue/unknown-model-error.ts'
import { problemOf } from '../problem-of.ts'
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
    .headers(answer.facts.headers ?? {})
    .code(answer.status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(answer))
}

/** Converts any error to OpenAI's format. An unexpected one says nothing about its cause. */
export function openAiErrorOf(installation: Installation, error: unknown, request: FastifyRequest): OpenAiError {
  if (error instanceof OpenAiError) return error
  if (error instanceof UnknownModelError) {
    return new OpenAiError(404, error.message, { param: 'model', code: 'model_not_found' })
  }
  if (error instanceof ClientToolError) return new OpenAiError(400, error.message, { param: 'tools' })
  const { status, message, headers } = problemOf(installation, error, request)
  const code = CODES[status]
  const param = invalidParam(error as Partial<FastifyError>)
  return new OpenAiError(status, message, {
    headers,
    ...(code !== undefined && { code }),
    ...(param !== undefined && { param }),
  })
}

/** The top-level field that the request schema rejects. */
function invalidParam({ validation }: Partial<FastifyError>): string | undefined {
  if (validation === undefined) return undefined
  const [{ instancePath = '', params = {} } = {}] = validation
  const param = instancePath.split('/')[1] ?? params.missingProperty
  return typeof param === 'string' ? param : undefined
}
