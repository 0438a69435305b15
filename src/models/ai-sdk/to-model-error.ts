import type { Clock } from '../../core/clock.ts'
import { connectionCode } from '../../core/network-code.ts'
import { redactText } from '../../core/redact.ts'
import { ModelError } from '../model-error.ts'

/** What is needed to tell of a failure. */
export interface Telling {
  readonly clock: Clock
  /** Must not be told. */
  readonly secrets: readonly string[]
}

/** What a provider answered instead of an answer. */
export interface Refusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Its body, where it is JSON. */
  readonly body: unknown
  /** What is said where the body says nothing. */
  readonly said: string
}

const ADVICE: Readonly<Record<number, string>> = {
  400: 'Check that the model takes tools, this many tokens and this long a conversation.',
  401: 'Check the api_key.',
  402: 'Check the plan and the billing of the account.',
  403: 'Check the api_key, and what it may use.',
  404: 'Check the name of the model against the list of those the provider has, and the base_url.',
  413: 'Send less.',
  429: 'Wait, or raise the limit of the account.',
}

/** Anything that a model of the AI SDK throws or streams as an error; holds neither address, header nor key. */
export function toModelError(error: unknown, telling: Telling): ModelError {
  if (error instanceof ModelError) return error
  const { statusCode, responseHeaders = {}, responseBody, data, message = '' } = fieldsOf(error)
  if (statusCode !== undefined && statusCode >= 400) {
    const body = readJson(responseBody) ?? data
    return refusalError({ status: statusCode, headers: responseHeaders, said: message, body }, telling)
  }
  const code = connectionCode(error)
  if (statusCode !== undefined || MIDWAY.has(code ?? '')) {
    return new ModelError(`The connection broke off in the middle of the answer${inBrackets(code)}. Try again.`, {
      retryable: true,
    })
  }
  if (code !== undefined || isApiCallError(error)) {
    return new ModelError(
      `The provider cannot be reached${inBrackets(code)}. Check that it is running, and the base_url.`,
      { retryable: true },
    )
  }
  if (isUnreadable(error)) {
    return new ModelError('What the provider sent is no answer. Check the base_url, and which api it speaks.')
  }
  return new ModelError(`The model failed${quoted(message, telling)}.`)
}

/** A refusal in words: what the provider said, and what to do. */
export function refusalError({ status, headers, said, body }: Refusal, telling: Telling): ModelError {
  const noCredit = status === 429 && errorCode(body) === 'insufficient_quota'
  const advice = noCredit
    ? ADVICE[402]
    : (ADVICE[status] ?? (status >= 500 ? 'Try again later.' : 'Check the request.'))
  // A refused key is often quoted in part.
  const words = status === 401 ? '' : quoted(messageIn(body) ?? said, telling)
  const retryAfter = retryAfterMs(headers, telling.clock.wall()) ?? retryInfoMs(body)
  return new ModelError(`The provider answered ${status}${words}. ${advice}`, {
    status,
    retryable: !noCredit && (status === 408 || status === 409 || status === 429 || status >= 500),
    ...(retryAfter !== undefined && { retryAfterMs: retryAfter }),
  })
}

function quoted(said: string, { secrets }: Telling): string {
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
}

// The classes are known by their marks, because a model may bring a copy of the package of its own.
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

/** Servers that speak a language of others do not keep to it where they refuse. */
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

/** How long a provider asks to be left alone: in milliseconds, in seconds, or until a date. */
export function retryAfterMs(headers: Readonly<Record<string, string>>, wallMs: number): number | undefined {
  const exact = Number.parseFloat(headers['retry-after-ms'] ?? '')
  if (exact >= 0) return Math.ceil(exact)
  const given = headers['retry-after'] ?? ''
  const ms = /^\s*-?[\d.]+\s*$/.test(given) ? Number.parseFloat(given) * 1000 : Date.parse(given) - wallMs
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms))
}

/** The same from the body: Google sends no header, but a detail. */
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
