import type { SpentBudget } from './costs.ts'
import { foreignText } from './json/json-depth.ts'

/** What a code of an error says. */
interface ErrorTraits {
  readonly status: number
  /** Whether a retry can help. */
  readonly retryable: boolean
  /**
   * The call never ran: it was wrong (`mistake`), its caller may not make it (`denied`), or may not yet (`waits`): a person or
   * time has to pass.
   */
  readonly refused?: 'mistake' | 'denied' | 'waits'
  /** The call was ended: its tool may have done its work. */
  readonly ended?: true
  /** The call did not happen, or is made again: its idempotency key can be used again, unless its outcome is unknown. */
  readonly freesKey?: true
  /** It spends no error budget: the caller caused it. */
  readonly ofCaller?: true
  /** It says nothing about the version of the tool. */
  readonly ofNoVersion?: true
}

const waits = { refused: 'waits', freesKey: true, ofCaller: true, ofNoVersion: true } as const

/** Every way a call can fail. */
export const TOOL_ERRORS = {
  TOOL_NOT_FOUND: { status: 404, retryable: false, refused: 'mistake', ofCaller: true },
  INVALID_PARAMETERS: { status: 400, retryable: false, refused: 'mistake', ofCaller: true },
  PERMISSION_DENIED: { status: 403, retryable: false, refused: 'denied', ofCaller: true, ofNoVersion: true },
  APPROVAL_REQUIRED: { status: 403, retryable: false, ...waits },
  CONNECTION_REQUIRED: { status: 403, retryable: false, ...waits },
  RATE_LIMITED: { status: 429, retryable: true, ...waits },
  TIMEOUT: { status: 504, retryable: true, ended: true, freesKey: true },
  CANCELLED: { status: 499, retryable: false, ended: true, freesKey: true, ofCaller: true, ofNoVersion: true },
  SERVICE_UNAVAILABLE: { status: 503, retryable: true, freesKey: true },
  RESULT_TOO_LARGE: { status: 500, retryable: false },
  EXECUTION_ERROR: { status: 500, retryable: false },
} as const satisfies Readonly<Record<string, ErrorTraits>>

export type ToolErrorCode = keyof typeof TOOL_ERRORS

export const errorTraits = (code: ToolErrorCode): ErrorTraits => TOOL_ERRORS[code]

/** Whether the same call would always be refused. */
export const isRefused = (code: ToolErrorCode): boolean => !['waits', undefined].includes(errorTraits(code).refused)

/** The codes with a trait. */
export const codesWith = (has: (traits: ErrorTraits) => unknown): readonly ToolErrorCode[] =>
  (Object.keys(TOOL_ERRORS) as ToolErrorCode[]).filter((code) => has(errorTraits(code)))

/** The error codes as constants. */
export const ToolErrorCode = Object.freeze(
  Object.fromEntries(Object.keys(TOOL_ERRORS).map((code) => [code, code])),
) as { readonly [code in ToolErrorCode]: code }

/** `path` is dotted (`user.emails[0]`), `rule` is the JSON Schema keyword that failed. */
export interface Problem {
  readonly path: string
  readonly rule: string
  readonly expected: unknown
}

export interface RequiredParameter {
  readonly name: string
  readonly type: string
  readonly description: string
}

/** Repeat the call with the id as `approval_id` after it was approved. */
export interface RequestedApproval {
  readonly id: string
  readonly expires_at: string
}

/** A step of a tool that calls others. */
export interface StepReport {
  readonly id: string
  readonly tool: string
  readonly status: 'not_run' | 'running' | 'done' | 'skipped' | 'failed' | 'cancelled'
  readonly error?: string
  readonly error_code?: ToolErrorCode
  readonly outcome?: 'unknown'
}

export interface FailureExtras {
  /**
   * For INVALID_PARAMETERS the problems, for APPROVAL_REQUIRED the approval to wait for, for CONNECTION_REQUIRED where the
   * user connects the account, for a pipeline what its steps did, for RATE_LIMITED by a budget which one, and when to try
   * again.
   */
  readonly details?: {
    readonly problems?: readonly Problem[]
    /** How many problems there are besides those. */
    readonly more_problems?: number
    readonly required?: readonly RequiredParameter[]
    readonly approval?: RequestedApproval
    /** Works once, for 10 minutes, for the signed-in user who called. */
    readonly connect_url?: string
    readonly provider?: string
    readonly steps?: readonly StepReport[]
    readonly budget?: SpentBudget
    readonly retry_after_ms?: number
  }
  readonly suggestions?: readonly string[]
  readonly outcome?: 'unknown'
}

export interface ToolSuccess<Result = unknown> {
  readonly success: true
  readonly result: Result
  readonly tool_name: string
  readonly execution_time_ms: number
  /** In units of `costs.currency`; null if it is unknown, absent if the tool names no cost. */
  readonly cost?: number | null
  /** Such as that the tool is deprecated; absent if there are none. */
  readonly warnings?: readonly string[]
}

export interface ToolFailure extends FailureExtras {
  readonly success: false
  readonly error: string
  readonly error_code: ToolErrorCode
  readonly tool_name: string
  readonly execution_time_ms: number
  readonly cost?: number | null
  readonly warnings?: readonly string[]
}

/** The envelope that every call returns. */
export type ToolResult<Result = unknown> = ToolSuccess<Result> | ToolFailure

/** Tells that a call may be retried. */
export interface Repeat {
  /** The minimum delay, from the service's Retry-After. */
  readonly afterMs?: number
  /** Nothing was sent, so even a write may be retried. */
  readonly neverLeft?: boolean
}

interface ErrorParts extends ErrorOptions {
  readonly repeat?: Repeat | undefined
}

/** The error of a failed call, converted to an envelope by the executor. */
export class ToolExecutionError extends Error {
  readonly code: ToolErrorCode
  readonly extras: FailureExtras
  readonly repeat: Repeat | undefined

  constructor(code: ToolErrorCode, message: string, extras: FailureExtras = {}, parts?: ErrorParts) {
    super(message, parts)
    this.name = 'ToolExecutionError'
    this.code = code
    this.extras = extras
    this.repeat = parts?.repeat
  }
}

export type MediaKind = 'image' | 'audio' | 'file'

/** An image, audio or another file: base64 data, or the address of it. */
export type MediaPart = {
  readonly type: MediaKind
  readonly media_type: string
  readonly name?: string
} & ({ readonly data: string; readonly url?: undefined } | { readonly url: string; readonly data?: undefined })

const MEDIA_TYPE = /^[a-z]+\/[\w.+*-]{1,100}$/
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const MAX_NAME_LENGTH = 100
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['audio/mp3', 'audio/mpeg'],
  ['audio/x-wav', 'audio/wav'],
  ['audio/wave', 'audio/wav'],
])
/** How the data of a type starts. Tools often declare the wrong type, and providers then refuse the whole request. */
const SIGNATURES: readonly (readonly [type: string, start: RegExp])[] = [
  ['image/png', /^iVBORw0KGgo/],
  ['image/jpeg', /^\/9j\//],
  ['image/gif', /^R0lGOD/],
  ['image/webp', /^UklGR.{6}XRUJQ/],
  ['application/pdf', /^JVBERi/],
]

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

export function mediaKind(mediaType: string): MediaKind {
  const [kind] = mediaType.split('/')
  return kind === 'image' || kind === 'audio' ? kind : 'file'
}

/** Whether the data can be of the declared type. */
export function hasSignature({ data, media_type }: MediaPart): boolean {
  const known = SIGNATURES.find(([type]) => type === media_type)
  return data === undefined || known === undefined || known[1].test(data)
}

/**
 * Reads `{type: "image" | "audio" | "file", media_type, data | url, name?}`, or a content block of MCP: the same with
 * `mimeType`, a resource with a blob, or a link to an image. Undefined if the value is something else.
 */
export function readMedia(value: unknown): MediaPart | undefined {
  if (!isObject(value)) return undefined
  const { type } = value
  if (type === 'resource' && isObject(value.resource)) {
    const { blob, uri, mimeType = 'application/octet-stream' } = value.resource
    return mediaPart(mimeType, blob, undefined, typeof uri === 'string' ? uri.split('/').at(-1) : undefined)
  }
  if (type === 'resource_link') {
    const { mimeType, uri, name } = value
    return typeof mimeType === 'string' && mimeType.startsWith('image/')
      ? mediaPart(mimeType, undefined, uri, name)
      : undefined
  }
  if (type !== 'image' && type !== 'audio' && type !== 'file') return undefined
  return mediaPart(value.media_type ?? value.mimeType, value.data, value.url, value.name)
}

/** Reads media from a `data:` URL in base64, or from a web address of this media type. */
export function mediaFromUrl(url: unknown, mediaType?: unknown, name?: unknown): MediaPart | undefined {
  const [start, type] = typeof url === 'string' ? (/^data:([^,]{1,200});base64,/.exec(url) ?? []) : []
  if (start === undefined) return mediaPart(mediaType, undefined, url, name)
  return mediaPart(type, (url as string).slice(start.length), undefined, name)
}

function mediaPart(declared: unknown, given: unknown, url: unknown, title: unknown): MediaPart | undefined {
  if (typeof declared !== 'string') return undefined
  const plain = (declared.split(';')[0] as string).trim().toLowerCase()
  const media_type = ALIASES.get(plain) ?? plain
  if (!MEDIA_TYPE.test(media_type)) return undefined
  const name = typeof title === 'string' && title !== '' && { name: title.slice(0, MAX_NAME_LENGTH) }
  if (typeof given === 'string') {
    // Encoders for mail break lines.
    const data = /\s/.test(given) ? given.replace(/\s/g, '') : given
    if (data.length % 4 !== 0 || !BASE64.test(data)) return undefined
    const type = SIGNATURES.find(([, start]) => start.test(data))?.[0] ?? media_type
    return { type: mediaKind(type), media_type: type, data, ...name }
  }
  const isWeb = typeof url === 'string' && /^https?:/i.test(url) && URL.canParse(url)
  return isWeb ? { type: mediaKind(media_type), media_type, url, ...name } : undefined
}

/** Stands for media in texts: `[image image/png, 34 KB]`. */
export function mediaText({ type, media_type, name, data, url }: MediaPart): string {
  return `[${type} ${name === undefined ? '' : `${name}, `}${media_type}, ${data === undefined ? url : sizeText(data)}]`
}

function sizeText(data: string): string {
  const bytes = data.length * 0.75 - (data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0)
  if (bytes < 1_024) return `${bytes} bytes`
  const kilobytes = bytes / 1_024
  return kilobytes < 1_024 ? `${Math.round(kilobytes)} KB` : `${(kilobytes / 1_024).toFixed(1)} MB`
}

/** The media of a result, and the result with a text in place of each: of itself, its entries, or those of `content`. */
export function splitMedia(result: unknown): { readonly value: unknown; readonly media: readonly MediaPart[] } {
  const media: MediaPart[] = []
  let isChanged = false
  const shown = (value: unknown): unknown => {
    const part = readMedia(value)
    const text = part === undefined ? unreadableText(value) : mediaText(part)
    if (text === undefined) return value
    if (part !== undefined) media.push(part)
    isChanged = true
    return text
  }
  const value = Array.isArray(result)
    ? result.map(shown)
    : isObject(result) && Array.isArray(result.content)
      ? withoutCopies({ ...result, content: result.content.map(shown) }, media)
      : shown(result)
  return { value: isChanged ? value : result, media }
}

/** Servers repeat media in the structured content of a result. */
function withoutCopies(result: Readonly<Record<string, unknown>>, media: readonly MediaPart[]): unknown {
  const { structuredContent } = result
  if (structuredContent === undefined || media.length === 0) return result
  const texts = new Map(media.map((part) => [part.data, mediaText(part)]))
  const copy = JSON.parse(JSON.stringify(structuredContent), (_key, value) => texts.get(value) ?? value)
  return { ...result, structuredContent: copy }
}

/** Stands for data that has a media type and can't be decoded: no model should read it as text. */
function unreadableText(value: unknown): string | undefined {
  if (!isObject(value)) return undefined
  const { type, media_type, mimeType = media_type, data } = value
  const { resource } = value as { resource?: Readonly<Record<string, unknown>> }
  const blob = type === 'resource' ? resource?.blob : data
  const isMedia =
    type === 'resource' || (['image', 'audio', 'file'].includes(foreignText(type)) && mimeType !== undefined)
  return isMedia && typeof blob === 'string' ? `[${type} that can't be read, ${sizeText(blob)}]` : undefined
}
