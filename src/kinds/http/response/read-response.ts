import type { Clock } from '../../../core/clock.ts'
import { brokenAnswer } from '../exchange/exchange-error.ts'
import type { HttpMethod } from '../http-implementation.ts'
import type { HttpResponse } from '../outgoing-request.ts'
import type { SecretValues } from '../secret-values.ts'
import { PathTooMuch } from './path-budget.ts'
import { readBody } from './read-body.ts'
import type { ResponseShape } from './response-shape.ts'
import { statusError } from './status-error.ts'

/** How the answers to one tool are read: worked out once. */
export interface Reading {
  readonly tool: string
  readonly method: HttpMethod
  readonly shape: ResponseShape
  readonly clock: Clock
}

/** What is told of an answer that has headers only. */
const TOLD = ['content-type', 'content-length', 'etag', 'last-modified'] as const

/** The result of a tool, from the answer to its request; throws the error that the answer means. */
export function readResponse(response: HttpResponse, reading: Reading, secrets: SecretValues): unknown {
  const { method, shape, tool } = reading
  checkStatus(response, reading, secrets)
  if (method === 'HEAD') return secrets.scrubValue(headersOnly(response))
  const { tainted, value } = readBody(response, tool, secrets, shape.needsJson)
  const shaped = shapeOf(value, reading)
  return tainted ? secrets.scrubValue(shaped) : shaped
}

/** Throws where the answer is not a success. */
export function checkStatus(response: HttpResponse, { clock, tool }: Reading, secrets: SecretValues): void {
  if (response.status >= 300) throw statusError(response, tool, secrets, clock.wall())
}

/** What the tool wants of a value. */
export function shapeOf(value: unknown, { shape, tool }: Reading): unknown {
  return lookingThrough(tool, () => shape.apply(value))
}

/** Runs what follows a path through an answer, and says so where there is too much of it. */
export function lookingThrough<Found>(tool: string, look: () => Found): Found {
  try {
    return look()
  } catch (error) {
    if (!(error instanceof PathTooMuch)) throw error
    throw brokenAnswer(
      `The service behind tool '${tool}' answered with more than a JSONPath can look through: ask for less, or write the path without '..' and filters`,
    )
  }
}

function headersOnly({ headers, status }: HttpResponse): unknown {
  const told = TOLD.filter((name) => headers[name] !== undefined)
  return { status, headers: Object.fromEntries(told.map((name) => [name, headers[name]])) }
}
