import { type Environment, splitAtVariables, variableIn } from '../../../core/environment.ts'
import type { HttpAuth, HttpImplementation } from '../definition/http-implementation.ts'
import { isPastHost, isSecretKey, type Place, publicText } from '../definition/public-text.ts'
import { literalSecrets, SECRET_AUTH } from '../definition/secret-values.ts'
import { hasControlCharacter, isHeaderValue } from '../exchange/outgoing-request.ts'
import { unfitImplementation } from './request-errors.ts'

interface ExpandedImplementation {
  readonly implementation: HttpImplementation
  /** Values that must never be shown: variables outside the host, and literal secrets. */
  readonly secrets: ReadonlySet<string>
}

/** Replaces every `${VAR}` in `url`, `headers`, `query` and `auth`. Throws if one is missing or can't be sent. */
export function expandImplementation(written: HttpImplementation, env: Environment): ExpandedImplementation {
  const secrets = new Set(literalSecrets(written).map(({ value }) => value))

  const expandAddress = (text: string, place: string): string => {
    const expanded = expandUrl(text, (name) => valueOfVariable(name, place, env))
    for (const secret of expanded.secrets) secrets.add(secret)
    return expanded.text
  }
  const expandText = (text: string, place: string, inHeader: boolean): string => {
    if (!text.includes('${')) return text
    return splitAtVariables(text).reduce((whole, part, at) => {
      if (at % 2 === 0) return whole + part
      const value = valueOfVariable(part, place, env)
      if (inHeader && !isHeaderValue(value)) {
        throw unfitImplementation(
          `The environment variable ${part} contains a character that is not allowed in a header, and ${place} is sent in one: set it to plain ASCII text`,
        )
      }
      secrets.add(value)
      return whole + value
    }, '')
  }
  return { implementation: mapTexts(written, expandAddress, expandText), secrets }
}

/** As written, with the values of the variables, except credentials: one that is replaced changes nothing. */
export function withoutSecrets(written: HttpImplementation, env: Environment): HttpImplementation {
  const find = (name: string) => ({ name, value: variableIn(env, name), isSecret: isSecretKey(name) })
  const shown = (text: string, place: Place, isSecret: boolean): string =>
    publicText(text, { parts: splitAtVariables(text), place, isSecret, find })
  return mapTexts(
    written,
    (text) => shown(text, 'address', false),
    (text, at) => {
      const key = at.slice(at.lastIndexOf('.') + 1)
      const isAuth = at.startsWith('implementation.auth.') && SECRET_AUTH.has(key)
      return shown(text, 'text', isAuth || isSecretKey(key))
    },
  )
}

/** Applies functions to all texts that may contain a `${VAR}`. */
function mapTexts(
  written: HttpImplementation,
  mapUrl: (text: string, place: string) => string,
  mapText: (text: string, place: string, inHeader: boolean) => string,
): HttpImplementation {
  const { url, headers, query, auth } = written
  const mapAll = (texts: object, place: string, inHeader: boolean): Record<string, string> =>
    Object.fromEntries(
      // Unknown keys may have values of any type.
      Object.entries(texts).map(([name, text]) => {
        const at = `implementation.${place}.${name}`
        if (typeof text !== 'string') return [name, text]
        return [name, place === 'auth' && name === 'token_url' ? mapUrl(text, at) : mapText(text, at, inHeader)]
      }),
    )
  const authInHeader = auth?.type === 'bearer' || (auth?.type === 'api_key' && auth.in === 'header')
  return {
    ...written,
    url: mapUrl(url, 'implementation.url'),
    ...(headers && { headers: mapAll(headers, 'headers', true) }),
    ...(query && { query: mapAll(query, 'query', false) }),
    ...(auth && { auth: mapAll(auth, 'auth', authInHeader) as unknown as HttpAuth }),
  }
}

/** Replaces variables with placeholders, to check an implementation before they are known. */
export const standInImplementation = (written: HttpImplementation): HttpImplementation =>
  mapTexts(written, standInUrl, (text) =>
    splitAtVariables(text)
      .map((part, at) => (at % 2 === 0 ? part : 'v'))
      .join(''),
  )

function valueOfVariable(name: string, place: string, env: Environment): string {
  const value = variableIn(env, name)
  if (value === undefined) {
    throw unfitImplementation(
      `The environment variable ${name} is not set: set it, or take \${${name}} out of the definition`,
    )
  }
  if (hasControlCharacter(value)) {
    throw unfitImplementation(
      `The environment variable ${name} contains a line break or another control character, which is not allowed in ${place}: set it to one line of text`,
    )
  }
  return value
}

/** A path segment of this length is more likely a key than a name. */
const LONG_PART = 20

interface ExpandedUrl {
  readonly text: string
  readonly secrets: readonly string[]
}

/**
 * Replaces the variables of a URL. A variable before the path may hold a whole URL and is inserted unchanged; later ones
 * are encoded. No value can add a `{parameter}`.
 */
export function expandUrl(written: string, valueOfVariable: (name: string) => string): ExpandedUrl {
  const parts = splitAtVariables(written)
  const secrets: string[] = []
  let text = parts[0] ?? ''
  for (let at = 1; at < parts.length; at += 2) {
    const isBeforePath = !isPastHost(text)
    const value = valueOfVariable(parts[at] ?? '').toWellFormed()
    const rest = parts[at + 1] ?? ''
    if (isBeforePath) {
      secrets.push(...keysIn(value))
      text += withoutBraces(rest.startsWith('/') ? value.replace(/\/$/, '') : value)
    } else {
      secrets.push(value)
      text += text.includes('?') ? encodeURIComponent(value) : encodeURI(value).replace(/[?#]/g, encodeURIComponent)
    }
    text += rest
  }
  return { text, secrets }
}

function standInUrl(written: string): string {
  const parts = splitAtVariables(written)
  return parts.reduce((text, part, at) => {
    if (at % 2 === 0) return text + part
    if (text === '') return parts[at + 1]?.startsWith('://') ? 'https' : 'https://v.invalid'
    return text + (!isPastHost(text) && text.endsWith(':') ? '1' : 'v')
  }, '')
}

const withoutBraces = (value: string): string => value.replaceAll('{', '%7B').replaceAll('}', '%7D')

/** Finds keys in a URL: webhooks have theirs in the path. */
function keysIn(address: string): string[] {
  const [, path = '', query = ''] = /^[^/?#]*:\/\/[^/?#]*([^?#]*)\??([^#]*)/.exec(address) ?? []
  return [...path.split('/').filter((part) => part.length >= LONG_PART), ...new URLSearchParams(query).values()]
}
