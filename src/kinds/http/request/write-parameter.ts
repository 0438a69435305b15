import type { Params } from '../../../core/tool.ts'
import { hasControlCharacter, isHeaderValue } from '../exchange/outgoing-request.ts'
import type { PlacedParameter } from './placed-parameters.ts'
import { refusedParameter } from './request-errors.ts'

export interface WritableParameter extends PlacedParameter {
  readonly key: string
  readonly encode: EncodeText
  readonly between: string
}

type Written = string | undefined

/** Serializes one value: texts as they are, null not at all, anything else as JSON. */
function plain(value: unknown): Written {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return undefined
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Writes pairs for a query, a form or a cookie; undefined if there are none. */
export function writePairs(value: unknown, to: WritableParameter): Written {
  if (typeof value !== 'object' || value === null) return pair(to, value)
  if (to.style === 'deepObject') return joined(deepPairs(value, to.key, to), to.between, to.parameter)
  if (to.style === undefined && !Array.isArray(value)) return pair(to, value)
  if (to.explode) {
    const pairs = Array.isArray(value) ? value.map((item) => pair(to, item)) : keyPairs(value, to)
    return joined(pairs, to.between, to.parameter)
  }
  const text = joined(flat(value, to), DELIMITERS[to.style ?? 'form'], to.parameter)
  return text === undefined ? undefined : `${to.key}=${text}`
}

export function writePath(value: unknown, to: WritableParameter): Written {
  if (to.style === 'label') return prefixed('.', simple(value, to, to.explode ? '.' : ','))
  if (to.style !== 'matrix') return simple(value, to, ',')
  if (!to.explode || typeof value !== 'object' || value === null) {
    return prefixed(`;${to.key}=`, simple(value, { ...to, explode: false }, ','))
  }
  const pairs = Array.isArray(value) ? value.map((item) => pair(to, item)) : entries(value, to, '=')
  return prefixed(';', joined(pairs, ';', to.parameter))
}

/** Writes a header value. Items of a list must not contain the delimiter. */
export function writeHeader(value: unknown, to: WritableParameter): Written {
  if (typeof value === 'object' && value !== null) refuseDelimiter(value, to, ',')
  return simple(value, to, ',')
}

const DELIMITERS: Readonly<Record<string, string>> = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C' }

function simple(value: unknown, to: WritableParameter, delimiter: string): Written {
  if (typeof value !== 'object' || value === null) {
    const text = plain(value)
    return text === undefined ? undefined : to.encode(text, to.parameter)
  }
  const texts = to.explode && !Array.isArray(value) ? entries(value, to, '=') : flat(value, to)
  return joined(texts, delimiter, to.parameter)
}

function pair(to: WritableParameter, value: unknown): Written {
  const text = plain(value)
  return text === undefined ? undefined : `${to.key}=${to.encode(text, to.parameter)}`
}

/** The items of a list, or the alternating keys and values of an object. */
function flat(value: object, to: WritableParameter): Written[] {
  if (to.style === 'spaceDelimited') refuseDelimiter(value, to, ' ')
  if (to.style === 'pipeDelimited') refuseDelimiter(value, to, '|')
  if (!Array.isArray(value)) return entries(value, to, DELIMITERS[to.style ?? 'form'] ?? ',')
  return value.map((item) => {
    const text = plain(item)
    return text === undefined ? undefined : to.encode(text, to.parameter)
  })
}

function entries(value: object, to: WritableParameter, sign: string): Written[] {
  return Object.entries(value).map(([key, one]) => {
    const text = plain(one)
    return text === undefined ? undefined : to.encode(key, to.parameter) + sign + to.encode(text, to.parameter)
  })
}

/** Only keys that the schema declares: others could set any query parameter. */
function keyPairs(value: object, to: WritableParameter): Written[] {
  return entries(Object.fromEntries(Object.entries(value).filter(([key]) => to.keys.has(key))), to, '=')
}

/** Writes `a[b][c]=1`; list items use their index as key. */
function deepPairs(value: object, key: string, to: WritableParameter): Written[] {
  return Object.entries(value).flatMap(([name, one]) => {
    const inner = `${key}%5B${to.encode(name, to.parameter)}%5D`
    return typeof one === 'object' && one !== null ? deepPairs(one, inner, to) : pair({ ...to, key: inner }, one)
  })
}

function refuseDelimiter(value: object, to: WritableParameter, delimiter: string): void {
  const texts = Array.isArray(value) ? value : Object.entries(value).flat()
  const bad = texts.find((one) => plain(one)?.includes(delimiter))
  if (bad !== undefined) {
    throw refusedParameter(to.parameter, bad, `must not contain an item with '${delimiter}', which separates items`)
  }
}

const prefixed = (prefix: string, text: Written): Written => (text === undefined ? undefined : prefix + text)

/** A key of the caller is sent with each entry below it: without a limit, 1 MB of parameters could be gigabytes. */
const MAX_WRITTEN = 8 * 1024 * 1024

/** Joins the texts of a parameter; undefined if there are none. */
export function joined(texts: readonly Written[], delimiter: string | undefined, parameter: string): Written {
  const given = texts.filter((text) => text !== undefined)
  const length = given.reduce((sum, text) => sum + text.length, 0)
  if (length > MAX_WRITTEN) {
    throw refusedParameter(parameter, length, `must have at most ${MAX_WRITTEN} characters when it is sent, not`)
  }
  return given.length === 0 ? undefined : given.join(delimiter)
}

export type EncodeText = (text: string, parameter: string) => string

/** Texts that need no encoding and no check for dots. */
const HARMLESS = /^[\w~-]+$/
const ENCODED = /%([0-7][0-9a-f])/gi
/** Proxies and servers in a row may each decode once. */
const MAX_DECODINGS = 4
/** `.` or `..` as a path segment. Some servers ignore the part after `;`. */
const DOTS = /(?:^|[/\\])\.{1,2}(?:;[^/\\]*)?(?:$|[/\\])/

export const encodeQuery: EncodeText = (text, parameter) => {
  try {
    return encodeURIComponent(text)
  } catch {
    // encodeURIComponent only fails on lone surrogates.
    throw refusedParameter(parameter, text, 'must not contain half of a surrogate pair')
  }
}

/** Encodes for a path, as at most one segment of it. */
export const encodePath: EncodeText = (text, parameter) => {
  if (HARMLESS.test(text)) return text
  if (hasControlCharacter(text)) throw withControlCharacter(text, parameter)
  if (DOTS.test(fullyDecoded(text))) {
    throw refusedParameter(parameter, text, 'must not be . or .. or change the path')
  }
  return encodeQuery(text, parameter)
}

export const encodeCookie: EncodeText = (text, parameter) => {
  if (hasControlCharacter(text)) throw withControlCharacter(text, parameter)
  return encodeQuery(text, parameter)
}

/** Header values aren't encoded. */
export const encodeHeader: EncodeText = (text, parameter) => {
  if (isHeaderValue(text)) return text
  if (hasControlCharacter(text)) throw withControlCharacter(text, parameter)
  throw refusedParameter(parameter, text, 'must be ASCII, as it is sent in a header')
}

const withControlCharacter = (text: string, parameter: string) =>
  refusedParameter(parameter, text, 'must not contain a line break or another control character')

function fullyDecoded(text: string): string {
  let at = text
  for (let round = 0; round < MAX_DECODINGS && at.includes('%'); round++) {
    at = at.replace(ENCODED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  }
  return at
}

/** The own property of a call's parameters: `toString` may be a parameter name. */
export function own(params: Params, name: string): unknown {
  return Object.hasOwn(params, name) ? params[name] : undefined
}
