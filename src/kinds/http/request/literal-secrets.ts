import { hasVariable } from '../../../core/expand-variables.ts'
import { redact } from '../../../core/redact.ts'
import type { HttpImplementation } from '../http-implementation.ts'
import { SecretValues } from '../secret-values.ts'

/** A secret that stands in a definition itself, and where. */
export interface LiteralSecret {
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
