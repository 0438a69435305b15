import { hasVariable } from '../../../core/expand-variables.ts'
import { redact } from '../../../core/redact.ts'
import type { HttpImplementation } from './http-implementation.ts'

const REDACTED = '[redacted]'
/** A shorter value stands in too many texts by chance. */
const SHORTEST = 6

/** Secrets by their value, in every spelling that an answer may bring them back in. */
export class SecretValues {
  /** Longest first, whichever value they are of: one that holds another goes whole. */
  #spellings: readonly string[] = []
  readonly #base: SecretValues | undefined

  /** With a base, those of the base too, also the ones that it is given later. */
  constructor(values: Iterable<string> = [], base?: SecretValues) {
    this.#base = base
    for (const value of values) this.add(value)
  }

  /** Whether a value is long enough to be found again; a shorter one is not taken in. */
  static isLongEnough(value: string): boolean {
    return value.length >= SHORTEST
  }

  get isEmpty(): boolean {
    return this.#spellings.length === 0 && (this.#base === undefined || this.#base.isEmpty)
  }

  add(value: string): void {
    if (!SecretValues.isLongEnough(value)) return
    const all = new Set([...this.#spellings, ...spellings(value)])
    this.#spellings = [...all].sort((one, other) => other.length - one.length)
  }

  /** Whether any of them stands in the text. */
  isIn(text: string): boolean {
    // Shortest first: a large answer has very many texts that are too short for any of them.
    for (let at = this.#spellings.length - 1; at >= 0; at--) {
      const spelling = this.#spellings[at] as string
      if (spelling.length > text.length) break
      if (text.includes(spelling)) return true
    }
    return this.#base?.isIn(text) ?? false
  }

  /** The text without them. */
  scrub(text: string): string {
    if (!this.isIn(text)) return text
    let clean = text
    for (const spelling of this.#spellings) clean = clean.replaceAll(spelling, REDACTED)
    return this.#base === undefined ? clean : this.#base.scrub(clean)
  }

  /** The value without them in any of its texts and keys; the very same value where there are none. */
  scrubValue(value: unknown): unknown {
    if (this.isEmpty) return value
    if (typeof value === 'string') return this.scrub(value)
    if (typeof value === 'number') return this.isIn(String(value)) ? REDACTED : value
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((one) => this.scrubValue(one))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [this.scrub(key), this.scrubValue(one)]))
  }
}

/** As it is, in a text of JSON, in an address or a form, and in base64. */
function spellings(value: string): string[] {
  const wellFormed = value.toWellFormed()
  const inJson = JSON.stringify(value).slice(1, -1)
  const inForm = new URLSearchParams([['', value]]).toString().slice(1)
  const inQuery = encodeURIComponent(wellFormed)
  const inPath = encodeURI(wellFormed).replace(/[?#]/g, encodeURIComponent)
  // Addresses encode these too when they are parsed.
  const inAddresses = [inQuery, inPath, inForm].flatMap((text) => [text, text.replaceAll("'", '%27')])
  const inBase64 = Buffer.from(value).toString('base64')
  return [
    value,
    inJson,
    inJson.replaceAll('/', '\\/'),
    inJson.replaceAll(ESCAPED, (one) => `\\u${hex(one).toUpperCase()}`),
    inJson.replaceAll(ESCAPED, (one) => `\\u${hex(one)}`),
    ...inAddresses,
    ...inAddresses.map((text) => text.replaceAll(/%[0-9A-F]{2}/g, (one) => one.toLowerCase())),
    inBase64,
    inBase64.replace(/(?<!=)=+$/, ''),
    Buffer.from(value).toString('base64url'),
  ]
}

/** What some write as an escape in JSON, though it need not be one. */
const ESCAPED = /[&'+<>`]|[^\0-~]/g
const hex = (one: string): string => one.charCodeAt(0).toString(16).padStart(4, '0')

/** A secret that stands in a definition itself, and where. */
interface LiteralSecret {
  readonly place: string
  /** What of it must never be shown. */
  readonly value: string
}

/** What else APIs call their keys, besides what is never logged anyway. */
const KEY_NAME =
  /^(?:x-)?(?:key|sig|signature|auth|appid|session(?:[-_]?id)?)$|(?:subscription|functions?|app|auth|license|account)[-_]?key$/i

/** The parts of `auth` that nobody may see. */
export const SECRET_AUTH: ReadonlySet<string> = new Set(['token', 'value', 'password', 'client_secret'])

/** The secrets that are written out, where a `${VAR}` should stand. */
export function literalSecrets(implementation: HttpImplementation): LiteralSecret[] {
  const { url, headers = {}, query = {}, auth } = implementation
  const named = [
    ...Object.entries(headers).map(([name, value]) => [`headers.${name}`, name, value] as const),
    ...Object.entries(query).map(([name, value]) => [`query.${name}`, name, value] as const),
    ...urlTexts(url),
  ]
  const secrets = named.filter(([, name, value]) => looksSecret(name, value))
  for (const [field, value] of Object.entries<unknown>(auth ?? {})) {
    if (typeof value !== 'string') continue
    const isOne = SECRET_AUTH.has(field) ? isWrittenOut(value) : looksSecret('', value)
    if (isOne) secrets.push([`auth.${field}`, field, value])
  }
  return secrets.map(([place, , value]) => ({ place: `implementation.${place}`, value: withoutScheme(value) }))
}

/** The values of the query, and the path in its parts. */
function urlTexts(url: string): (readonly [place: string, name: string, value: string])[] {
  const [address = '', query = ''] = url.split(/\?(.*)/s)
  return [
    ...address.split('/').map((part) => ['url', '', part] as const),
    ...[...new URLSearchParams(query)].map(([name, value]) => ['url', name, value] as const),
  ]
}

/** Whether what is called so is a secret more often than not. */
export function isSecretName(name: string): boolean {
  return KEY_NAME.test(name) || isRedacted({ [name]: '' })
}

/** Whether a value that is written out is one, by its name or by itself. */
export function looksSecret(name: string, value: string): boolean {
  return isWrittenOut(value) && (isSecretName(name) || isRedacted({ value }))
}

const isRedacted = (value: object): boolean => JSON.stringify(redact(value)).includes('[redacted]')

/** What is too short to be a secret is none. */
const isWrittenOut = (value: string): boolean => SecretValues.isLongEnough(value) && !hasVariable(value)

/** `Bearer abc` is no secret, `abc` is. */
const withoutScheme = (value: string): string => value.replace(/^(?:Bearer|Basic|Token|ApiKey)\s+/i, '')
