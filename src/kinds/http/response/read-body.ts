import { isUtf8 } from 'node:buffer'
import { isDeep } from '../../../core/json-depth.ts'
import { LIMITS } from '../../../core/snapshot.ts'
import type { ToolExecutionError } from '../../../core/tool-execution-error.ts'
import { brokenAnswer } from '../exchange/exchange-error.ts'
import type { HttpResponse } from '../outgoing-request.ts'
import type { SecretValues } from '../secret-values.ts'
import { type ContentType, contentTypeOf } from './content-type.ts'
import { decodeText } from './decode-text.ts'
import { excerptOf } from './excerpt.ts'

/** What a body holds. */
export interface Body {
  readonly value: unknown
  /** It may hold a secret: whatever is made of the value must be scrubbed. */
  readonly tainted: boolean
}

const EMPTY: Body = { value: null, tainted: false }
const NO_CONTENT = 204
const RESET_CONTENT = 205
/** Each level takes two characters: what is shorter cannot be too deep. */
const NEVER_DEEP = 2 * LIMITS.resultDepth
/** So much is parsed in no time however deep it is; the executor then says that it is too deep. */
const QUICKLY_PARSED = 65_536

/** Reads a body by what it was said to be. `needsJson` says that only JSON will do. */
export function readBody(response: HttpResponse, tool: string, secrets: SecretValues, needsJson: boolean): Body {
  const { body, headers, status } = response
  if (body.length === 0 || status === NO_CONTENT || status === RESET_CONTENT) return EMPTY
  const type = contentTypeOf(headers['content-type'])
  const text = textOf(body, type, tool)
  const tainted = isTainted(text, secrets)
  if (type.content === 'json' || type.content === 'undeclared') {
    // Whoever looks through the value goes as deep as it does.
    const isWalked = tainted || needsJson || text.length > QUICKLY_PARSED
    if (isWalked && text.length > NEVER_DEEP && isDeep(text, LIMITS.resultDepth)) throw tooDeep(tool)
    const value = parsed(text)
    if (value !== undefined) return { value, tainted }
    if (type.content === 'json') throw notJson(response, tool, secrets)
  }
  if (needsJson) throw otherThanJson(tool, type)
  return { value: text, tainted }
}

/** The value of JSON; undefined where it is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text.trim() === '' ? null : undefined
  }
}

/** The text of a body that is one; throws where it is not. */
function textOf(body: Buffer, type: ContentType, tool: string): string {
  const isText = type.content === 'json' || type.content === 'text'
  if (!isText && type.charset === undefined && (!isUtf8(body) || body.includes(0))) {
    throw brokenAnswer(
      `The service behind tool '${tool}' answered with ${type.name}, ${body.length} bytes: the result of a tool is JSON or text`,
    )
  }
  const text = decodeText(body, type.charset)
  if (text === undefined) throw unknownCharset(tool, type)
  return text
}

/**
 * Whether secrets must be looked for in the value. A text of JSON can write any character as an escape, and a `/` as
 * `\/`: what has such escapes is looked through behind them.
 */
const isTainted = (text: string, secrets: SecretValues): boolean =>
  !secrets.isEmpty && (secrets.isIn(text) || text.includes('\\u') || text.includes('\\/'))

function notJson(response: HttpResponse, tool: string, secrets: SecretValues): ToolExecutionError {
  const words = excerptOf(response, secrets)
  return brokenAnswer(
    `The service behind tool '${tool}' says that it answers in JSON, but what it sent is none${words && `: ${words}`}`,
  )
}

const otherThanJson = (tool: string, { name }: ContentType): ToolExecutionError =>
  brokenAnswer(
    `The service behind tool '${tool}' answered with ${name}: response_path, pick and pagination take JSON only`,
  )

const tooDeep = (tool: string): ToolExecutionError =>
  brokenAnswer(
    `The service behind tool '${tool}' answered with JSON that is nested deeper than ${LIMITS.resultDepth} levels`,
  )

const unknownCharset = (tool: string, { name }: ContentType): ToolExecutionError =>
  brokenAnswer(`The service behind tool '${tool}' answered with ${name} in a character set that is not known`)
