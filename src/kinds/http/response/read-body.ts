import { isUtf8 } from 'node:buffer'
import { isDeep } from '../../../core/json/json-depth.ts'
import { LIMITS } from '../../../core/snapshot.ts'
import type { SecretValues } from '../definition/secret-values.ts'
import { brokenAnswer } from '../exchange/exchange-error.ts'
import type { HttpResponse } from '../exchange/outgoing-request.ts'

interface Body {
  readonly value: unknown
  /** Whether it may contain a secret and must be scrubbed. */
  readonly tainted: boolean
}

const EMPTY: Body = { value: null, tainted: false }
const NO_CONTENT = 204
const RESET_CONTENT = 205
/** Each level takes two characters, so shorter texts can't be too deep. */
const NEVER_DEEP = 2 * LIMITS.resultDepth
/** Texts up to this size are parsed whatever their depth; the executor then checks it. */
const QUICKLY_PARSED = 65_536

/** Parses a body by its content type. With `needsJson`, anything but JSON is an error. */
export function readBody(response: HttpResponse, tool: string, secrets: SecretValues, needsJson: boolean): Body {
  const { body, headers, status } = response
  if (body.length === 0 || status === NO_CONTENT || status === RESET_CONTENT) return EMPTY
  const broken = (problem: string) => brokenAnswer(`The service behind tool '${tool}' ${problem}`)
  const type = contentTypeOf(headers['content-type'])
  const text = textOf(body, type, broken)
  const tainted = isTainted(text, secrets)
  if (type.content === 'json' || type.content === 'undeclared') {
    // Scrubbing and JSONPath recurse, so the depth must be checked before.
    const isWalked = tainted || needsJson || text.length > QUICKLY_PARSED
    if (isWalked && text.length > NEVER_DEEP && isDeep(text, LIMITS.resultDepth)) {
      throw broken(`answered with JSON that is nested deeper than ${LIMITS.resultDepth} levels`)
    }
    const value = parsed(text)
    if (value !== undefined) return { value, tainted }
    if (type.content === 'json') {
      const excerpt = excerptOf(response, secrets)
      throw broken(`declares JSON, but its body is not valid JSON${excerpt && `: ${excerpt}`}`)
    }
  }
  if (needsJson) throw broken(`answered with ${type.name}: response_path, pick and pagination need JSON`)
  return { value: text, tainted }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text.trim() === '' ? null : undefined
  }
}

function textOf(body: Buffer, type: ContentType, broken: (problem: string) => Error): string {
  const isText = type.content === 'json' || type.content === 'text'
  if (!isText && type.charset === undefined && (!isUtf8(body) || body.includes(0))) {
    throw broken(`answered with ${type.name}, ${body.length} bytes: the result of a tool must be JSON or text`)
  }
  const text = decodeText(body, type.charset)
  if (text === undefined) throw broken(`answered with ${type.name} in an unknown character set`)
  return text
}

/** JSON can escape any character, so texts with escapes are always scrubbed. */
const isTainted = (text: string, secrets: SecretValues): boolean =>
  !secrets.isEmpty && (secrets.isIn(text) || text.includes('\\u') || text.includes('\\/'))

const MAX_EXCERPT = 200
/** Enough to skip leading blanks and to include the end of a secret. */
const LOOKED_AT = 8_192
const NOT_PRINTED = /[\s\p{C}]+/gu

/** The beginning of a response for an error message: one line without secrets; empty if it isn't text. */
export function excerptOf({ body, headers }: HttpResponse, secrets: SecretValues): string {
  const { charset } = contentTypeOf(headers['content-type'])
  if (charset === undefined && !isUtf8(body)) return ''
  const text = decodeText(body.subarray(0, LOOKED_AT), charset) ?? ''
  const line = secrets.scrub(unescaped(text)).replaceAll(NOT_PRINTED, ' ').trim()
  return line.length > MAX_EXCERPT ? `${line.slice(0, MAX_EXCERPT).toWellFormed()}…` : line
}

/** JSON escapes could hide a secret. */
const unescaped = (text: string): string =>
  text
    .replaceAll('\\/', '/')
    .replaceAll(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

const UTF8: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii'])
const BYTE_ORDER_MARK = 0xfeff

/** Decodes a body without its byte order mark; undefined if the character set is unknown. */
function decodeText(body: Buffer, charset?: string): string | undefined {
  if (charset === undefined || UTF8.has(charset)) {
    const text = body.toString('utf8')
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
  }
  try {
    return new TextDecoder(charset).decode(body)
  } catch {
    return undefined
  }
}

interface ContentType {
  readonly content: 'json' | 'text' | 'undeclared' | 'other'
  /** Safe to show in messages. */
  readonly name: string
  readonly charset?: string
}

const JSON_TYPE = /^(?:application|text)\/json$|\+json$/
/** Includes JSON lines and sequences, which aren't JSON as a whole. */
const TEXT_TYPE =
  /^text\/|\+(?:xml|yaml)$|^application\/(?:xml|yaml|x-yaml|toml|javascript|graphql|sql|x-www-form-urlencoded|x-ndjson|ndjson|jsonl|x-jsonlines|json-seq)$/
const NAME = /^\s*([\w!#$&^.+-]{1,60}\/[\w!#$&^.+-]{1,60})\s*(?:;|,|$)/
const CHARSET = /;\s*charset\s*=\s*"?([^";,\s]+)/i

const UNDECLARED: ContentType = { content: 'undeclared', name: 'an unnamed type' }

/** Parses a `content-type`. An invalid one and `application/octet-stream` count as none. */
function contentTypeOf(header: string | undefined): ContentType {
  if (header === undefined) return UNDECLARED
  const name = NAME.exec(header)?.[1]?.toLowerCase()
  if (name === undefined || name === 'application/octet-stream') return UNDECLARED
  const charset = CHARSET.exec(header)?.[1]?.toLowerCase()
  const content = JSON_TYPE.test(name) ? 'json' : TEXT_TYPE.test(name) ? 'text' : 'other'
  return { content, name, ...(charset !== undefined && { charset }) }
}
