import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Installation } from '../../app/installation.ts'
import { ClientToolError } from '../../chat/client-tools.ts'
import { UnknownModelError } from '../../models/model-error.ts'
import { problemOf } from '../http/problem.ts'

/** Sends an error in OpenAI's format. */
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
  const code = status === 401 ? 'invalid_api_key' : undefined
  return new OpenAiError(status, message, { headers, code, param: invalidParam(error as Partial<FastifyError>) })
}

/** The top-level field that the request schema rejects. */
function invalidParam({ validation }: Partial<FastifyError>): string | undefined {
  if (validation === undefined) return undefined
  const [{ instancePath = '', params = {} } = {}] = validation
  const param = instancePath.split('/')[1] ?? params.missingProperty
  return typeof param === 'string' ? param : undefined
}

type OpenAiErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'server_error'

interface OpenAiErrorFacts {
  readonly type?: OpenAiErrorType
  /** The invalid field of the request. */
  readonly param?: string | undefined
  readonly code?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** An error in the format that OpenAI clients read. */
export class OpenAiError extends Error {
  readonly status: number
  readonly facts: OpenAiErrorFacts

  constructor(status: number, message: string, facts: OpenAiErrorFacts = {}) {
    super(message)
    this.name = 'OpenAiError'
    this.status = status
    this.facts = facts
  }

  toJSON(): { readonly error: object } {
    const { type = typeOf(this.status), param = null, code = null } = this.facts
    return { error: { message: this.message, type, param, code } }
  }
}

export const invalid = (param: string, message: string, code?: string): OpenAiError =>
  new OpenAiError(400, message, { param, code })

function typeOf(status: number): OpenAiErrorType {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
