import { hasVariable } from '../../../core/environment.ts'
import { redact } from '../../../core/records/redact.ts'
import type { HttpImplementation } from './http-implementation.ts'

const REDACTED = '[redacted]'
/** Shorter values occur in too many texts by chance. */
const MIN_CHARACTERS = 6

/** Secret values, found in a response in every encoding. */
export class SecretValues {
  /** Longest first, so that a spelling that contains another is removed whole. */
  #spellings: readonly string[] = []
  readonly #base: SecretValues | undefined

  /** Includes the secrets of `base`, also those added to it later. */
  constructor(values: Iterable<string> = [], base?: SecretValues) {
    this.#base = base
    for (const value of values) this.add(value)
  }

  static isLongEnough(value: string): boolean {
    return value.length >= MIN_CHARACTERS
  }

  get isEmpty(): boolean {
    return this.#spellings.length === 0 && (this.#base === undefined || this.#base.isEmpty)
  }

  add(value: string): void {
    if (!SecretValues.isLongEnough(value)) return
    const all = new Set([...this.#spellings, ...spellings(value)])
    this.#spellings = [...all].sort((one, other) => other.length - one.length)
  }

  isIn(text: string): boolean {
    // Shortest first: most texts of a large response are too short for any secret.
    for (let at = this.#spellings.length - 1; at >= 0; at--) {
      const spelling = this.#spellings[at] as string
      if (spelling.length > text.length) break
      if (text.includes(spelling)) return true
    }
    return this.#base?.isIn(text) ?? false
  }

  scrub(text: string): string {
    if (!this.isIn(text)) return text
    let clean = text
    for (const spelling of this.#spellings) clean = clean.replaceAll(spelling, REDACTED)
    return this.#base === undefined ? clean : this.#base.scrub(clean)
  }

  /** Replaces all secrets in the texts and keys of a value. */
  scrubValue(value: unknown): unknown {
    if (this.isEmpty) return value
    if (typeof value === 'string') return this.scrub(value)
    if (typeof value === 'number') return this.isIn(String(value)) ? REDACTED : value
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((one) => this.scrubValue(one))
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [this.scrub(key), this.scrubValue(one)]))
  }
}

/** The value itself, and as it appears in JSON, URLs, forms and base64. */
function spellings(value: string): string[] {
  const wellFormed = value.toWellFormed()
  const inJson = JSON.stringify(value).slice(1, -1)
  const inForm = new URLSearchParams([['', value]]).toString().slice(1)
  const inQuery = encodeURIComponent(wellFormed)
  const inPath = encodeURI(wellFormed).replace(/[?#]/g, encodeURIComponent)
  // URL parsers also encode apostrophes.
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

/** Characters that some JSON encoders escape without need. */
const ESCAPED = /[&'+<>`]|[^\0-~]/g
const hex = (one: string): string => one.charCodeAt(0).toString(16).padStart(4, '0')

interface LiteralSecret {
  readonly place: string
  readonly value: string
}

/** Names of API keys, besides those that the log redacts. */
const API_KEY = /(?:subscription|functions?|app|auth)[-_]?key$/i
/** Names that others than credentials have, too. */
const PERHAPS_KEY = /^(?:x-)?(?:key|sig|signature|auth|appid|session(?:[-_]?id)?)$|(?:license|account)[-_]?key$/i

export const SECRET_AUTH: ReadonlySet<string> = new Set(['token', 'value', 'password', 'client_secret'])

/** Finds secrets that are written out instead of referring to a `${VAR}`. */
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

function urlTexts(url: string): (readonly [place: string, name: string, value: string])[] {
  const [address = '', query = ''] = url.split(/\?(.*)/s)
  return [
    ...address.split('/').map((part) => ['url', '', part] as const),
    ...[...new URLSearchParams(query)].map(([name, value]) => ['url', name, value] as const),
  ]
}

/** Whether the name is that of a credential and of nothing else. */
export const isCredentialName = (name: string): boolean => API_KEY.test(name) || isRedacted({ [name]: '' })

export const isSecretName = (name: string): boolean => PERHAPS_KEY.test(name) || isCredentialName(name)

/** Whether a literal value is a secret, judged by its name or its form. */
export function looksSecret(name: string, value: string): boolean {
  return isWrittenOut(value) && (isSecretName(name) || isRedacted({ value }))
}

const isRedacted = (value: object): boolean => JSON.stringify(redact(value)).includes('[redacted]')

const isWrittenOut = (value: string): boolean => SecretValues.isLongEnough(value) && !hasVariable(value)

/** In `Bearer abc` only `abc` is secret. */
const withoutScheme = (value: string): string => value.replace(/^(?:Bearer|Basic|Token|ApiKey)\s+/i, '')
