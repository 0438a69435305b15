import { isUtf8 } from 'node:buffer'

const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a]
/** Objects with 200,000 different keys take `JSON.parse` 0.3 s. */
const MAX_BODY_KEYS = 100_000

/** The maximum depth of JSON in this process. Recursive functions need no limit of their own below it. */
export const MAX_JSON_DEPTH = 512

/** Why JSON is refused. The message continues "the body …". */
export class RefusedJsonError extends SyntaxError {
  override readonly name = 'RefusedJsonError'
}

/** `JSON.parse` for untrusted text: throws a RefusedJsonError if it is nested deeper than `limit`. */
export function parseJson(
  text: string,
  limit: number = MAX_JSON_DEPTH,
  parse: (text: string) => unknown = JSON.parse,
): unknown {
  if (isDeep(text, limit)) throw new RefusedJsonError(`is nested deeper than ${limit} levels`)
  return parse(text)
}

/** `parseJson` for a request body. Also refuses too many keys, and bytes and integers that would be changed. */
export function parseBody(bytes: Buffer, limit: number, parse?: (text: string) => unknown): unknown {
  if (!isUtf8(bytes)) throw new RefusedJsonError('is not valid UTF-8')
  const text = bytes.toString('utf8')
  if (hasMoreKeys(text, MAX_BODY_KEYS)) throw new RefusedJsonError(`has more than ${MAX_BODY_KEYS} keys`)
  const value = parseJson(text, limit, parse)
  const rounded = LONG_NUMBER.test(text) ? roundedInteger(text) : undefined
  if (rounded === undefined) return value
  throw new RefusedJsonError(
    `has the integer ${rounded}, which is beyond 2^53 and would be rounded: send it as a string`,
  )
}

/** In a text that may not be JSON. */
function hasMoreKeys(text: string, limit: number): boolean {
  // The shortest key with its value is `"":0,`.
  if (text.length < 5 * limit) return false
  let keys = 0
  let inString = false
  for (let at = 0; at < text.length && keys <= limit; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) inString = !inString
    else if (inString && code === BACKSLASH) at++
    else if (!inString && code === COLON) keys++
  }
  return keys > limit
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
  if (text.length <= limit) return false
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

/** JSON text in which `instead` stands for each array and object that is nested deeper than `limit`. */
export function withoutDeepParts(text: string, limit: number, instead: string): string {
  let kept = ''
  let depth = 0
  let inString = false
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === BACKSLASH) at++
      else if (code === QUOTE) inString = false
    } else if (code === QUOTE) inString = true
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++depth === limit + 1) kept += text.slice(from, at) + instead
    } else if ((code === CLOSE_ARRAY || code === CLOSE_OBJECT) && depth-- === limit + 1) from = at + 1
  }
  return depth > limit ? kept : kept + text.slice(from)
}

const SHOWN_PATH = 60

/**
 * Says which part of a value is nested deeper than `limit`; undefined if none is. Circular values are. Doesn't recurse, and
 * looks into arrays and plain objects only. A part that can't be read counts as flat: the code that reads it reports it.
 */
export function depthProblem(value: unknown, limit = MAX_JSON_DEPTH): string | undefined {
  const open: { readonly part: object; readonly keys: readonly string[]; at: number }[] = []
  /** The deepest level at which a part has been read: a part may be in many places. */
  const known = new Map<object, number>()
  const enter = (part: unknown): boolean => {
    if (typeof part !== 'object' || part === null || !(Array.isArray(part) || isPlainObject(part))) return true
    if ((known.get(part) ?? -1) >= open.length) return true
    if (open.length >= limit) return false
    known.set(part, open.length)
    open.push({ part, keys: Object.keys(part), at: 0 })
    return true
  }
  const fitsAt = (part: object, key: string): boolean => {
    try {
      return enter(part[key as keyof typeof part])
    } catch {
      return true
    }
  }
  let fits = fitsAt({ value }, 'value')
  for (let last = open.at(-1); fits && last !== undefined; last = open.at(-1)) {
    const key = last.keys[last.at++]
    if (key === undefined) open.pop()
    else fits = fitsAt(last.part, key)
  }
  if (fits) return undefined
  const path = open.slice(0, SHOWN_PATH).map(({ part, keys, at }) => {
    const key = keys[at - 1] as string
    return Array.isArray(part) ? `[${key}]` : `.${key}`
  })
  const text = path.join('').replace(/^\./, '')
  const shown = text.length > SHOWN_PATH ? `${text.slice(0, SHOWN_PATH)}…` : text
  return `${shown} is nested deeper than ${limit} levels: flatten it`
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

const TOKEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in strings
  /[\t\n\r ]*(?:("(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|([[\]{},:]))/y
const SPACE = /[\t\n\r ]*/y

/** Finding an error in a longer text may take long. */
const MAX_LOOKED_AT = 65_536

/**
 * What is wrong with text that isn't JSON, and where; undefined for JSON, and if the error is far from the start. V8
 * names no position for a wrong token.
 */
export function jsonProblem(text: string): string | undefined {
  const open: string[] = []
  let expected: 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'comma or end' = 'value'
  let at = 0
  for (;;) {
    SPACE.lastIndex = at
    SPACE.test(text)
    const start = SPACE.lastIndex
    if (start === text.length) break
    if (start >= MAX_LOOKED_AT) return undefined
    TOKEN.lastIndex = at
    const [, string, literal, sign] = TOKEN.exec(text) ?? []
    const isValue = string !== undefined || literal !== undefined || sign === '[' || sign === '{'
    if (expected === 'comma or end') {
      const inside = open.at(-1)
      if (sign !== undefined && sign === inside) open.pop()
      else if (sign === ',' && inside !== undefined) expected = inside === '}' ? 'key' : 'value'
      else return unexpected(text, start)
    } else if (expected === 'colon' && sign === ':') expected = 'value'
    else if (expected === 'key or }' && sign === '}') closed()
    else if (expected === 'value or ]' && sign === ']') closed()
    else if (expected.startsWith('key') && string !== undefined) expected = 'colon'
    else if (expected.startsWith('value') && isValue) {
      if (sign !== undefined) open.push(sign === '[' ? ']' : '}')
      expected = sign === '[' ? 'value or ]' : sign === '{' ? 'key or }' : 'comma or end'
    } else return unexpected(text, start)
    at = TOKEN.lastIndex
  }
  return expected === 'comma or end' && open.length === 0 ? undefined : `it ends too early, at position ${text.length}`

  function closed(): void {
    open.pop()
    expected = 'comma or end'
  }
}

/** A string that doesn't end is unexpected from its quote on. */
function unexpected(text: string, at: number): string {
  const before = text.slice(0, at).split('\n')
  const column = (before.at(-1)?.length ?? 0) + 1
  return `unexpected ${JSON.stringify(text.slice(at, at + 10))} at position ${at} (line ${before.length}, column ${column})`
}

/** A result as text: a string unchanged, anything else as JSON. */
export const asText = (result: unknown): string => (typeof result === 'string' ? result : JSON.stringify(result))

/**
 * `String(value)` for a value of someone else. Objects become JSON: their `toString` may not be a function, and one in a list
 * may not be either.
 */
export function foreignText(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return String(value)
  try {
    return JSON.stringify(value) ?? 'an object'
  } catch {
    return 'an object'
  }
}
