import type { Clock } from '../../core/clock.ts'
import { connectionCode, connectionProblem, retryAfterMs } from '../../core/failure.ts'
import { redactText } from '../../core/records/redact.ts'
import { ModelError } from '../model-error.ts'

/** What error messages need. */
export interface Telling {
  readonly clock: Clock
  /** Removed from messages. */
  readonly secrets: readonly string[]
}

/** An error response of a provider. */
interface Refusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The parsed body, if it is JSON. */
  readonly body: unknown
  /** Used if the body has no message. */
  readonly said: string
}

const ADVICE: Readonly<Record<number, string>> = {
  400: 'Check that the model supports tools, max_tokens and a conversation of this length.',
  401: 'Check the api_key.',
  402: 'Check the plan and the billing of the account.',
  403: 'Check the api_key and its permissions.',
  404: 'Check the name of the model and the base_url.',
  413: 'Send a smaller request.',
  429: 'Wait, or raise the limit of the account.',
}

/** Converts an error of the AI SDK. The message contains no address, header or key. */
export function toModelError(error: unknown, telling: Telling): ModelError {
  // The AI SDK wraps an error of the response's body.
  for (const one of [error, fieldsOf(error).cause]) if (one instanceof ModelError) return one
  const { statusCode, responseHeaders = {}, responseBody, data, message = '' } = fieldsOf(error)
  if (statusCode !== undefined && statusCode >= 400) {
    const body = readJson(responseBody) ?? data
    return refusalError({ status: statusCode, headers: responseHeaders, said: message, body }, telling)
  }
  const code = connectionCode(error)
  if (statusCode !== undefined || MIDWAY.has(code ?? '')) {
    return new ModelError(`The connection was lost during the response${inBrackets(code)}. Try again.`, {
      retryable: true,
    })
  }
  const problem = connectionProblem(error)
  if (problem !== undefined || isApiCallError(error)) {
    return new ModelError(
      `The provider cannot be reached${problem === undefined ? '' : `: ${problem}`}. Check that it is running, and the base_url.`,
      { retryable: true },
    )
  }
  if (isUnreadable(error)) {
    return new ModelError('The provider sent an invalid response. Check base_url and api.')
  }
  return new ModelError(`The model failed${saidBy(message, telling)}.`)
}

export function refusalError({ status: sent, headers, said, body }: Refusal, telling: Telling): ModelError {
  // Google answers a wrong key with 400.
  const status = detailsOf(body).some((detail) => detail?.reason === 'API_KEY_INVALID') ? 401 : sent
  const noCredit = status === 429 && errorCode(body) === 'insufficient_quota'
  const advice = noCredit
    ? ADVICE[402]
    : (ADVICE[status] ?? (status >= 500 ? 'Try again later.' : 'Check the request.'))
  // Providers often quote part of a rejected key.
  const words = status === 401 ? '' : saidBy(messageIn(body) ?? said, telling)
  return new ModelError(`The provider answered ${sent}${words}. ${advice}`, {
    status,
    retryable: !noCredit && (status === 408 || status === 409 || status === 429 || status >= 500),
    retryAfterMs: waitMs(headers, telling.clock.wall()) ?? retryInfoMs(body),
  })
}

function saidBy(said: string, { secrets }: Telling): string {
  let text = said.replace(/\b[a-z][a-z0-9+.-]{0,30}:\/\/\S+/gi, '[address]').replace(/\s+/g, ' ')
  for (const secret of secrets) if (secret !== '') text = text.replaceAll(secret, '[redacted]')
  text = redactText(text)
    .trim()
    .replace(/(?<!\.)\.+$/, '')
  return text === '' ? '' : `: ${text}`
}

interface ErrorFields {
  readonly message?: string
  readonly statusCode?: number
  readonly responseHeaders?: Record<string, string>
  readonly responseBody?: string
  readonly data?: unknown
  readonly name?: string
  readonly code?: unknown
  readonly cause?: unknown
}

// Detected by symbol, because a model may use its own copy of the package.
const fieldsOf = (error: unknown): ErrorFields => (typeof error === 'object' && error !== null ? error : {})
const isApiCallError = (error: unknown): boolean => Symbol.for('vercel.ai.error.AI_APICallError') in fieldsOf(error)
const isUnreadable = (error: unknown): boolean =>
  ['AI_JSONParseError', 'AI_TypeValidationError', 'AI_InvalidResponseDataError', 'AI_EmptyResponseBodyError'].some(
    (mark) => Symbol.for(`vercel.ai.error.${mark}`) in fieldsOf(error),
  )

const MIDWAY = new Set(['UND_ERR_SOCKET', 'UND_ERR_BODY_TIMEOUT', 'ERR_STREAM_PREMATURE_CLOSE'])

const inBrackets = (code: string | undefined): string => (code === undefined ? '' : ` (${code})`)

type ErrorBody = { error?: { code?: unknown; message?: unknown } | string } | null | undefined

const errorCode = (body: unknown): unknown => fieldsOf((body as ErrorBody)?.error).code

/** Compatible servers often use another error format. */
function messageIn(body: unknown): string | undefined {
  const error = (body as ErrorBody)?.error
  const message = typeof error === 'object' ? error?.message : error
  return typeof message === 'string' && message !== '' ? message : undefined
}

function readJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** How long the provider asks to wait: some send milliseconds in a header of their own. */
export function waitMs(headers: Readonly<Record<string, string>>, wallMs: number): number | undefined {
  const exact = Number.parseFloat(headers['retry-after-ms'] ?? '')
  return exact >= 0 ? Math.ceil(exact) : retryAfterMs(headers['retry-after'], wallMs)
}

/** Google sends the delay in the body. */
export function retryInfoMs(body: unknown): number | undefined {
  for (const detail of detailsOf(body)) {
    if (detail?.['@type'] !== 'type.googleapis.com/google.rpc.RetryInfo') continue
    const seconds = /^([\d.]+)s$/.exec(String(detail.retryDelay))?.[1]
    if (seconds !== undefined) return Math.ceil(Number.parseFloat(seconds) * 1000)
  }
  return undefined
}

function detailsOf(body: unknown): (Record<string, unknown> | null | undefined)[] {
  const details = (body as { error?: { details?: unknown } } | null | undefined)?.error?.details
  return Array.isArray(details) ? details : []
}
