import { isUtf8 } from 'node:buffer'

const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const [QUOTE, BACKSLASH] = [0x22, 0x5c]

/** Why JSON is refused. The message continues "the body …". */
export class RefusedJsonError extends SyntaxError {
  override readonly name = 'RefusedJsonError'
}

/** `JSON.parse` for untrusted text: throws a RefusedJsonError if it is nested deeper than `limit`. */
export function parseJson(text: string, limit: number, parse: (text: string) => unknown = JSON.parse): unknown {
  if (isDeep(text, limit)) throw new RefusedJsonError(`is nested deeper than ${limit} levels`)
  return parse(text)
}

/** `parseJson` for a request body. Also refuses bytes and integers that would be changed. */
export function parseBody(bytes: Buffer, limit: number, parse?: (text: string) => unknown): unknown {
  if (!isUtf8(bytes)) throw new RefusedJsonError('is not valid UTF-8')
  const text = bytes.toString('utf8')
  const value = parseJson(text, limit, parse)
  const rounded = LONG_NUMBER.test(text) ? roundedInteger(text) : undefined
  if (rounded === undefined) return value
  throw new RefusedJsonError(
    `has the integer ${rounded}, which is beyond 2^53 and would be rounded: send it as a string`,
  )
}

const LONG_NUMBER = /\d{16}/
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g
const MAX_SHOWN_DIGITS = 40

/** The first integer of valid JSON that a number can't hold exactly. */
function roundedInteger(text: string): string | undefined {
  for (const [token] of text.matchAll(STRING_OR_NUMBER)) {
    if (/^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token))) return token.slice(0, MAX_SHOWN_DIGITS)
  }
  return undefined
}

/** `JSON.parse` blocks for 0.2 s on 1 MB of brackets, and for seconds on a few megabytes. */
export function isDeep(text: string, limit: number): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === BACKSLASH) at++
      else if (code === QUOTE) inString = false
    } else if (code === QUOTE) inString = true
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++depth > limit) return true
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth--
  }
  return false
}

/** A result as text: a string unchanged, anything else as JSON. */
export const asText = (result: unknown): string => (typeof result === 'string' ? result : JSON.stringify(result))
